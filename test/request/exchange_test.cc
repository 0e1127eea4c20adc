#include "steelyard/request/exchange.h"

#include <algorithm>
#include <array>
#include <gtest/gtest.h>
#include <set>

#include "test/request/rig.h"

namespace steelyard::request {
namespace {

using namespace std::chrono_literals;
using base::Code;
using testing::at;
using testing::node_error;
using testing::Rig;
using Kind = Step::Kind;

const Policy kPolicy{};

TEST(ExchangeRules, AnAnsweredRequestCountsOnceAndGivesItsTokenBack) {
  Rig rig(3);
  Exchange exchange;
  const Step step = exchange.begin(kPolicy, {true}, rig.place(), at(0s));
  ASSERT_EQ(step.kind, Kind::kTry);
  EXPECT_FALSE(step.fresh);
  const unsigned node = rig.index(step.node->ref);
  EXPECT_EQ(rig.in_flight(), 1U);
  EXPECT_EQ(rig.cells(node).attempts.read(), 1U);
  exchange.connected(0, at(1ms));
  exchange.sent(0, at(2ms));
  EXPECT_FALSE(exchange.head(0, 200, {}, rig.place(), at(52ms)).loser.has_value());
  EXPECT_EQ(rig.cells(node).head_latency.read().count(), 1U);
  EXPECT_EQ(rig.cells(node).successes.read(), 0U);
  exchange.finished(0);
  EXPECT_EQ(rig.cells(node).successes.read(), 1U);
  EXPECT_EQ(rig.in_flight(), 0U);
  const auto p50 = rig.cells(node).head_latency.read().quantile(0.5);
  EXPECT_NEAR(base::seconds(*p50), 0.050, 0.005);
}

TEST(ExchangeRules, WhatIsTriedAgainAndWhatIsNot) {
  struct Row {
    std::string_view name;
    bool idempotent, replayable, answered;
    Broke where;
    bool connecting;  // broke while connecting
    Code code;
    base::Origin origin;
    bool unsent;
    Kind want;
    bool other_node, fresh;
    Reason reason;
  };
  constexpr auto kNode = base::Origin::kNode;
  constexpr auto kUs = base::Origin::kUs;
  constexpr std::array rows{
      Row{"GET, refused", true, true, false, Broke::kFresh, true, Code::kRefused, kNode, true,
          Kind::kTry, true, false, Reason::kNone},
      Row{"GET, connect time-out", true, true, false, Broke::kFresh, true, Code::kTimeout, kNode,
          true, Kind::kTry, true, false, Reason::kNone},
      Row{"POST, refused, body kept", false, true, false, Broke::kFresh, true, Code::kRefused,
          kNode, true, Kind::kTry, true, false, Reason::kNone},
      Row{"POST, refused, body used up", false, false, false, Broke::kFresh, true, Code::kRefused,
          kNode, true, Kind::kAnswer, false, false, Reason::kConnectFailed},
      Row{"GET, broken before the first byte", true, true, false, Broke::kFresh, false,
          Code::kReset, kNode, false, Kind::kTry, true, false, Reason::kNone},
      Row{"POST, broken before the first byte", false, true, false, Broke::kFresh, false,
          Code::kReset, kNode, false, Kind::kAnswer, false, false, Reason::kBroken},
      Row{"POST, the node says it did nothing", false, true, false, Broke::kFresh, false,
          Code::kReset, kNode, true, Kind::kTry, true, false, Reason::kNone},
      Row{"PUT whose body is not kept", true, false, false, Broke::kFresh, false, Code::kReset,
          kNode, false, Kind::kAnswer, false, false, Reason::kBroken},
      Row{"GET, broken after the first byte", true, true, false, Broke::kInAnswer, false,
          Code::kReset, kNode, false, Kind::kAnswer, false, false, Reason::kBroken},
      Row{"GET, malformed answer", true, true, false, Broke::kInAnswer, false, Code::kProtocol,
          kNode, false, Kind::kAnswer, false, false, Reason::kBadAnswer},
      Row{"GET, an interim answer went out", true, true, true, Broke::kFresh, false, Code::kReset,
          kNode, false, Kind::kAbort, false, false, Reason::kBroken},
      Row{"GET, our own fault", true, true, false, Broke::kFresh, true, Code::kLimit, kUs, true,
          Kind::kAnswer, false, false, Reason::kOurLimit},
      Row{"GET, stale connection", true, true, false, Broke::kReused, false, Code::kReset, kNode,
          false, Kind::kTry, true, true, Reason::kNone},
      Row{"POST, stale connection", false, true, false, Broke::kReused, false, Code::kReset, kNode,
          false, Kind::kAnswer, false, false, Reason::kBroken},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    Rig rig(3);
    Exchange exchange;
    const Step first = exchange.begin(kPolicy, {row.idempotent}, rig.place(), at(0s));
    const auto node = first.node->ref;
    exchange.set_replayable(row.replayable);
    if (!row.connecting) {
      exchange.connected(0, at(1ms));
      exchange.sent(0, at(1ms));
    }
    if (row.answered) exchange.answered();
    const Step step = exchange.failed(0, {row.code, row.origin, row.unsent, {}}, row.where,
                                      rig.place(), at(10ms));
    EXPECT_EQ(step.kind, row.want);
    EXPECT_EQ(step.reason, row.reason);
    if (step.kind == Kind::kTry) {
      EXPECT_EQ(step.node->ref != node, row.other_node);
      EXPECT_EQ(step.fresh, row.fresh);
      EXPECT_EQ(rig.in_flight(), 1U);
    } else {
      EXPECT_EQ(rig.in_flight(), 0U);
    }
  }
}

TEST(ExchangeRules, CountsTellAFailedConnectFromABrokenAnswer) {
  struct Row {
    std::string_view name;
    bool connecting;
    Broke where;
    Code code;
    base::Origin origin;
    unsigned failures, connect_failures, refused, timeouts, streak;
    bool urgent;
  };
  constexpr auto kNode = base::Origin::kNode;
  constexpr std::array rows{
      Row{"refused", true, Broke::kFresh, Code::kRefused, kNode, 0, 1, 1, 0, 1, true},
      Row{"unreachable", true, Broke::kFresh, Code::kUnreachable, kNode, 0, 1, 1, 0, 1, true},
      Row{"connect time-out", true, Broke::kFresh, Code::kTimeout, kNode, 0, 1, 0, 1, 1, true},
      Row{"reset while connecting", true, Broke::kFresh, Code::kReset, kNode, 0, 1, 0, 0, 1, true},
      Row{"broken", false, Broke::kFresh, Code::kReset, kNode, 1, 0, 0, 0, 1, true},
      Row{"malformed", false, Broke::kInAnswer, Code::kProtocol, kNode, 1, 0, 0, 0, 1, true},
      Row{"stale", false, Broke::kReused, Code::kReset, kNode, 0, 0, 0, 0, 0, false},
      Row{"above our limit", false, Broke::kInAnswer, Code::kLimit, kNode, 0, 0, 0, 0, 0, false},
      Row{"our fault", true, Broke::kFresh, Code::kLimit, base::Origin::kUs, 0, 0, 0, 0, 0, false},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    Rig rig(1);
    Exchange exchange;
    ASSERT_EQ(exchange.begin(kPolicy, {false}, rig.place(), at(0s)).kind, Kind::kTry);
    if (!row.connecting) {
      exchange.connected(0, at(1ms));
      exchange.sent(0, at(1ms));
    }
    const Step step = exchange.failed(0, {row.code, row.origin, row.connecting, {}}, row.where,
                                      rig.place(), at(2ms));
    EXPECT_EQ(step.kind, Kind::kAnswer);
    EXPECT_EQ(step.urgent, row.urgent);
    auto& cells = rig.cells(0);
    EXPECT_EQ(cells.attempts.read(), 1U);
    EXPECT_EQ(cells.successes.read(), 0U);
    EXPECT_EQ(cells.failures.read(), row.failures);
    EXPECT_EQ(cells.connect_failures.read(), row.connect_failures);
    EXPECT_EQ(cells.refused.read(), row.refused);
    EXPECT_EQ(cells.timeouts.read(), row.timeouts);
    EXPECT_EQ(cells.failure_streak.read(), row.streak);
    EXPECT_EQ(rig.in_flight(), 0U);
  }
}

TEST(ExchangeRules, AnErrorStatusIsAFailureAndASuccessEndsTheStreak) {
  Rig rig(1);
  Exchange exchange;
  for (const unsigned status : {500U, 503U}) {
    (void)exchange.begin(kPolicy, {true}, rig.place(), at(0s));
    exchange.connected(0, at(0s));
    exchange.sent(0, at(0s));
    (void)exchange.head(0, status, {}, rig.place(), at(1ms));
    exchange.finished(0);
  }
  EXPECT_EQ(rig.cells(0).failures.read(), 2U);
  EXPECT_EQ(rig.cells(0).failure_streak.read(), 2U);
  EXPECT_EQ(rig.cells(0).head_latency.read().count(), 0U);
  (void)exchange.begin(kPolicy, {true}, rig.place(), at(0s));
  exchange.connected(0, at(0s));
  exchange.sent(0, at(0s));
  (void)exchange.head(0, 404, {}, rig.place(), at(1ms));
  exchange.finished(0);
  EXPECT_EQ(rig.cells(0).successes.read(), 1U);
  EXPECT_EQ(rig.cells(0).failure_streak.read(), 0U);
}

TEST(ExchangeRules, AClientThatGoesAwayIsNobodysFailure) {
  Rig rig(1);
  Exchange exchange;
  (void)exchange.begin(kPolicy, {true}, rig.place(), at(0s));
  exchange.give_up(0);
  (void)exchange.begin(kPolicy, {true}, rig.place(), at(0s));
  exchange.connected(0, at(0s));
  exchange.sent(0, at(0s));
  exchange.give_up(0);
  EXPECT_EQ(rig.cells(0).attempts.read(), 2U);
  EXPECT_EQ(rig.cells(0).successes.read() + rig.cells(0).failures.read(), 0U);
  (void)exchange.begin(kPolicy, {true}, rig.place(), at(0s));
  exchange.connected(0, at(0s));
  exchange.sent(0, at(0s));
  (void)exchange.head(0, 200, {}, rig.place(), at(1ms));
  exchange.give_up(0);
  EXPECT_EQ(rig.cells(0).successes.read(), 1U);
  EXPECT_EQ(rig.in_flight(), 0U);
}

TEST(ExchangeRules, AfterAFailedConnectOnlyOneOtherNodeIsTried) {
  Rig rig(4);
  Exchange exchange;
  std::set<unsigned> tried{
      rig.index(exchange.begin(kPolicy, {true}, rig.place(), at(0s)).node->ref)};
  const Step second =
      exchange.failed(0, node_error(Code::kRefused, true), Broke::kFresh, rig.place(), at(1ms));
  ASSERT_EQ(second.kind, Kind::kTry);
  tried.insert(rig.index(second.node->ref));
  EXPECT_EQ(tried.size(), 2U);
  const Step third =
      exchange.failed(0, node_error(Code::kRefused, true), Broke::kFresh, rig.place(), at(2ms));
  EXPECT_EQ(third.kind, Kind::kAnswer);
  EXPECT_EQ(third.reason, Reason::kConnectFailed);
  EXPECT_EQ(exchange.tries(), 2U);
}

TEST(ExchangeRules, ARefusedConnectWithNoNodeLeftIsAnsweredAsNoNode) {
  struct Row {
    std::string_view name;
    std::array<model::Eligibility, 3> nodes;
    Code code;
    Reason want;
  };
  using enum model::Eligibility;
  constexpr std::array rows{
      Row{"two refuse, the third is out",
          {kUsable, kUsable, kOut},
          Code::kRefused,
          Reason::kNoNode},
      Row{"two refuse, the third is drained",
          {kUsable, kUsable, kDraining},
          Code::kRefused,
          Reason::kNoNode},
      Row{"all are out, and panic picks them", {kOut, kOut, kOut}, Code::kRefused, Reason::kNoNode},
      Row{"two refuse, the third was not asked",
          {kUsable, kUsable, kUsable},
          Code::kRefused,
          Reason::kConnectFailed},
      Row{"two take too long", {kUsable, kUsable, kOut}, Code::kTimeout, Reason::kConnectTimeout},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    Rig rig(3);
    for (std::size_t i = 0; i < 3; ++i) rig.nodes[i].eligibility = row.nodes[i];
    rig.panic = row.nodes[0] == kOut;
    rig.publish();
    Exchange exchange;
    ASSERT_EQ(exchange.begin(kPolicy, {true}, rig.place(), at(0s)).kind, Kind::kTry);
    const auto error = node_error(row.code, true);
    ASSERT_EQ(exchange.failed(0, error, Broke::kFresh, rig.place(), at(1ms)).kind, Kind::kTry);
    const Step last = exchange.failed(0, error, Broke::kFresh, rig.place(), at(2ms));
    EXPECT_EQ(last.kind, Kind::kAnswer);
    EXPECT_EQ(last.reason, row.want);
    EXPECT_EQ(describe(last.reason).retry_after > 0, row.want == Reason::kNoNode);
  }
}

TEST(ExchangeRules, NodesThatRefusedOthersASecondAgoCountAsGone) {
  Rig rig(4);
  const auto refuse_twice = [&](base::TimePoint now) {
    Exchange exchange;
    std::set<unsigned> tried{
        rig.index(exchange.begin(kPolicy, {true}, rig.place(), now).node->ref)};
    const auto error = node_error(Code::kRefused, true);
    const Step second = exchange.failed(0, error, Broke::kFresh, rig.place(), now);
    tried.insert(rig.index(second.node->ref));
    const Step last = exchange.failed(0, error, Broke::kFresh, rig.place(), now);
    return std::pair(tried, last.reason);
  };
  std::set<unsigned> refused;
  for (int i = 0; i < 100 && refused.size() < 4; ++i) {
    const auto [tried, reason] = refuse_twice(at(0s));
    refused.insert(tried.begin(), tried.end());
    EXPECT_EQ(reason, refused.size() == 4 ? Reason::kNoNode : Reason::kConnectFailed);
  }
  ASSERT_EQ(refused.size(), 4U);
  EXPECT_EQ(refuse_twice(at(900ms)).second, Reason::kNoNode);
  // It is forgotten, and only two of four were asked since.
  EXPECT_EQ(refuse_twice(at(5s)).second, Reason::kConnectFailed);
}

// A worker that asked nobody for a second knows nothing of its own; the Table says enough.
TEST(ExchangeRules, InPanicTwoThatRefuseSpeakForAll) {
  for (const bool panic : {true, false}) {
    SCOPED_TRACE(panic);
    int no_node = 0;
    for (int i = 0; i < 20; ++i) {
      Rig rig(4);
      for (std::size_t out = 0; out < 3; ++out) {
        if (panic) rig.nodes[out].eligibility = model::Eligibility::kOut;
      }
      rig.panic = panic;
      rig.publish();
      Exchange exchange;
      (void)exchange.begin(kPolicy, {true}, rig.place(), at(0s));
      const auto error = node_error(Code::kRefused, true);
      ASSERT_EQ(exchange.failed(0, error, Broke::kFresh, rig.place(), at(0s)).kind, Kind::kTry);
      const Step last = exchange.failed(0, error, Broke::kFresh, rig.place(), at(0s));
      no_node += last.reason == Reason::kNoNode ? 1 : 0;
    }
    EXPECT_EQ(no_node, panic ? 20 : 0);
  }
}

TEST(ExchangeRules, NoRequestReachesNodesMoreThanTwice) {
  Rig rig(4);
  Exchange exchange;
  (void)exchange.begin(kPolicy, {true}, rig.place(), at(0s));
  exchange.connected(0, at(0s));
  exchange.sent(0, at(0s));
  const Step second =
      exchange.failed(0, node_error(Code::kReset, false), Broke::kReused, rig.place(), at(1ms));
  ASSERT_EQ(second.kind, Kind::kTry);
  EXPECT_TRUE(second.fresh);
  // The fresh connection is refused: nothing was sent on it, so it may move on.
  const Step third =
      exchange.failed(0, node_error(Code::kRefused, true), Broke::kFresh, rig.place(), at(2ms));
  ASSERT_EQ(third.kind, Kind::kTry);
  exchange.connected(0, at(3ms));
  exchange.sent(0, at(3ms));
  const Step last =
      exchange.failed(0, node_error(Code::kReset, false), Broke::kFresh, rig.place(), at(4ms));
  EXPECT_EQ(last.kind, Kind::kAnswer);
  EXPECT_EQ(last.reason, Reason::kBroken);
}

TEST(ExchangeRules, AStaleConnectionOfTheOnlyNodeIsTriedAgainOnIt) {
  Rig rig(1);
  Exchange exchange;
  const auto node = exchange.begin(kPolicy, {true}, rig.place(), at(0s)).node->ref;
  exchange.connected(0, at(0s));
  exchange.sent(0, at(0s));
  const Step again =
      exchange.failed(0, node_error(Code::kReset, false), Broke::kReused, rig.place(), at(1ms));
  ASSERT_EQ(again.kind, Kind::kTry);
  EXPECT_EQ(again.node->ref, node);
  EXPECT_TRUE(again.fresh);
  exchange.connected(0, at(2ms));
  exchange.sent(0, at(2ms));
  const Step last =
      exchange.failed(0, node_error(Code::kReset, false), Broke::kFresh, rig.place(), at(3ms));
  EXPECT_EQ(last.kind, Kind::kAnswer);
  EXPECT_EQ(rig.cells(0).attempts.read(), 2U);
  EXPECT_EQ(rig.cells(0).failures.read(), 1U);
}

TEST(ExchangeRules, RetriesCanBeSwitchedOffButAStaleConnectionIsStillRepeated) {
  Policy none;
  none.retry.attempts = 0;
  Rig rig(3);
  Exchange exchange;
  (void)exchange.begin(none, {true}, rig.place(), at(0s));
  EXPECT_EQ(
      exchange.failed(0, node_error(Code::kRefused, true), Broke::kFresh, rig.place(), at(0s)).kind,
      Kind::kAnswer);
  (void)exchange.begin(none, {true}, rig.place(), at(0s));
  exchange.connected(0, at(0s));
  exchange.sent(0, at(0s));
  EXPECT_EQ(
      exchange.failed(0, node_error(Code::kReset, false), Broke::kReused, rig.place(), at(0s)).kind,
      Kind::kTry);
  exchange.give_up(0);
}

TEST(ExchangeRules, ReasonsWhenNoNodeCanBePicked) {
  struct Row {
    std::string_view name;
    model::Eligibility eligibility;
    bool panic, gone, full;
    Reason want;
  };
  constexpr std::array rows{
      Row{"all out", model::Eligibility::kOut, false, false, false, Reason::kNoNode},
      Row{"all draining", model::Eligibility::kDraining, false, false, false, Reason::kNoNode},
      Row{"draining even in panic", model::Eligibility::kDraining, true, false, false,
          Reason::kNoNode},
      Row{"at the limit", model::Eligibility::kTrial, false, false, true, Reason::kAllBusy},
      Row{"upstream gone", model::Eligibility::kUsable, false, true, false, Reason::kNoUpstream},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    Rig rig(2);
    for (auto& node : rig.nodes) {
      node.eligibility = row.eligibility;
      if (row.full) rig.slots.line(node.ref).max_in_flight = 1;
      if (row.full) rig.slots.line(node.ref).in_flight = 1;
    }
    rig.panic = row.panic;
    rig.gone = row.gone;
    rig.publish();
    Exchange exchange;
    const Step step = exchange.begin(kPolicy, {true}, rig.place(), at(0s));
    EXPECT_EQ(step.kind, Kind::kAnswer);
    EXPECT_EQ(step.reason, row.want);
    EXPECT_EQ(describe(step.reason).status, 503);
  }
}

TEST(ExchangeRules, ARetryWhoseUpstreamHasVanishedIsAnswered503) {
  Rig rig(2);
  Exchange exchange;
  (void)exchange.begin(kPolicy, {true}, rig.place(), at(0s));
  rig.gone = true;
  rig.publish();
  const Step step =
      exchange.failed(0, node_error(Code::kRefused, true), Broke::kFresh, rig.place(), at(1ms));
  EXPECT_EQ(step.kind, Kind::kAnswer);
  EXPECT_EQ(describe(step.reason).status, 503);
}

TEST(ExchangeRules, ATrialTakesOneRequestAtATime) {
  Rig rig(1);
  rig.nodes[0].eligibility = model::Eligibility::kTrial;
  rig.slots.line(rig.nodes[0].ref).max_in_flight = 1;
  rig.publish();
  Exchange first, second;
  ASSERT_EQ(first.begin(kPolicy, {true}, rig.place(), at(0s)).kind, Kind::kTry);
  EXPECT_EQ(second.begin(kPolicy, {true}, rig.place(), at(0s)).reason, Reason::kAllBusy);
  first.give_up(0);
  EXPECT_EQ(second.begin(kPolicy, {true}, rig.place(), at(0s)).kind, Kind::kTry);
  second.give_up(0);
}

TEST(ExchangeRules, DeadlinesFollowTheSteps) {
  Policy policy;
  policy.timeouts = {1s, 10s, 60s, std::nullopt, std::nullopt};
  Rig rig(1);
  Exchange exchange;
  (void)exchange.begin(policy, {false}, rig.place(), at(0s));
  EXPECT_EQ(exchange.deadline(), at(1s));
  exchange.connected(0, at(500ms));
  EXPECT_EQ(exchange.deadline(), at(60s + 500ms));
  exchange.moved(at(3s));
  EXPECT_EQ(exchange.deadline(), at(63s));
  exchange.sent(0, at(4s));
  EXPECT_EQ(exchange.deadline(), at(14s));
  (void)exchange.head(0, 200, {}, rig.place(), at(5s));
  EXPECT_EQ(exchange.deadline(), at(65s));
  exchange.moved(at(7s));
  EXPECT_EQ(exchange.deadline(), at(67s));
  EXPECT_EQ(exchange.on_time(Stall::kNode, rig.place(), at(66s)).kind, Kind::kWait);
  exchange.finished(0);
  EXPECT_EQ(exchange.deadline(), base::TimePoint::max());
}

TEST(ExchangeRules, EachTimeOutHasItsAnswer) {
  struct Row {
    std::string_view name;
    bool connected, sent, head;
    Stall stall;
    base::Duration when;
    Kind want;
    Reason reason;
    unsigned failures, connect_failures, timeouts;
  };
  constexpr std::array rows{
      Row{"connect", false, false, false, Stall::kNode, 1s, Kind::kAnswer, Reason::kConnectTimeout,
          0, 1, 1},
      Row{"node does not take the body", true, false, false, Stall::kNode, 60s, Kind::kAnswer,
          Reason::kIdleTimeout, 1, 0, 1},
      Row{"client does not send the body", true, false, false, Stall::kClient, 60s, Kind::kAnswer,
          Reason::kClientTimeout, 0, 0, 0},
      Row{"head", true, true, false, Stall::kNode, 10s, Kind::kAnswer, Reason::kHeadTimeout, 1, 0,
          1},
      Row{"node stops in the answer", true, true, true, Stall::kNode, 60s, Kind::kAbort,
          Reason::kIdleTimeout, 1, 0, 1},
      Row{"client does not read", true, true, true, Stall::kClient, 60s, Kind::kAbort,
          Reason::kClientTimeout, 0, 0, 0},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    Rig rig(1);
    Exchange exchange;
    (void)exchange.begin(kPolicy, {false}, rig.place(), at(0s));
    if (row.connected) exchange.connected(0, at(0s));
    if (row.sent) exchange.sent(0, at(0s));
    if (row.head) (void)exchange.head(0, 200, {}, rig.place(), at(0s));
    if (row.head) exchange.answered();
    EXPECT_EQ(exchange.deadline(), at(row.when));
    EXPECT_EQ(exchange.on_time(row.stall, rig.place(), at(row.when - 1ns)).kind, Kind::kWait);
    const Step step = exchange.on_time(row.stall, rig.place(), at(row.when));
    EXPECT_EQ(step.kind, row.want);
    EXPECT_EQ(step.reason, row.reason);
    EXPECT_FALSE(exchange.running(0));
    EXPECT_EQ(rig.cells(0).failures.read(), row.failures);
    EXPECT_EQ(rig.cells(0).connect_failures.read(), row.connect_failures);
    EXPECT_EQ(rig.cells(0).timeouts.read(), row.timeouts);
    EXPECT_EQ(rig.in_flight(), 0U);
  }
}

TEST(ExchangeRules, AConnectTimeOutMovesToAnotherNodeWithinOneConnectTimeout) {
  Rig rig(2);
  Exchange exchange;
  const auto node = exchange.begin(kPolicy, {false}, rig.place(), at(0s)).node->ref;
  const Step step = exchange.on_time(Stall::kNode, rig.place(), at(1s));
  ASSERT_EQ(step.kind, Kind::kTry);
  EXPECT_NE(step.node->ref, node);
  EXPECT_TRUE(step.urgent);
  EXPECT_EQ(exchange.deadline(), at(2s));
  exchange.give_up(0);
}

TEST(ExchangeRules, TheTotalTimeCoversAllAttempts) {
  Policy policy;
  policy.timeouts.total = 1500ms;
  Rig rig(3);
  Exchange exchange;
  (void)exchange.begin(policy, {true}, rig.place(), at(0s));
  ASSERT_EQ(exchange.on_time(Stall::kNode, rig.place(), at(1s)).kind, Kind::kTry);
  EXPECT_EQ(exchange.deadline(), at(1500ms));
  const Step step = exchange.on_time(Stall::kNode, rig.place(), at(1500ms));
  EXPECT_EQ(step.kind, Kind::kAnswer);
  EXPECT_EQ(step.reason, Reason::kTotalTimeout);
  EXPECT_EQ(describe(step.reason).status, 504);
  EXPECT_EQ(rig.in_flight(), 0U);
}

TEST(Cursors, WorkersStayOutOfStepOverNewTables) {
  constexpr unsigned kWorkers = 16, kNodes = 10, kEach = 10;
  for (const std::string_view picker : {"round_robin", "smooth_weighted_round_robin"}) {
    Rig rig(kNodes, picker, kWorkers);
    std::vector<pick::Cursors> cursors(kWorkers);
    std::vector<States> states(kWorkers);
    std::vector<base::Rng> rngs;
    for (unsigned w = 0; w < kWorkers; ++w) rngs.emplace_back(w + 1);
    for (int reload = 0; reload < 6; ++reload) {
      rig.publish();
      for (unsigned w = 0; w < kWorkers; ++w) {
        cursors[w].adopt(*rig.table, rngs[w]);
        states[w].adopt(*rig.table->model, {}, {}, rig.slots);
      }
      std::vector<unsigned> picks;
      for (unsigned i = 0; i < kEach; ++i) {
        for (unsigned w = 0; w < kWorkers; ++w) {
          Exchange exchange;
          const Place place{*rig.table, 0, cursors[w], rig.slots, w, rngs[w], states[w]};
          picks.push_back(rig.index(exchange.begin(kPolicy, {true}, place, at(0s)).node->ref));
          exchange.give_up(0);
        }
      }
      for (unsigned node = 0; node < kNodes; ++node) {
        const auto all = std::count(picks.begin(), picks.end(), node);
        EXPECT_GE(all, 6) << picker;
        EXPECT_LE(all, 26) << picker;
        for (std::size_t from = 0; from + 50 <= picks.size(); ++from) {
          const auto begin = picks.begin() + static_cast<std::ptrdiff_t>(from);
          EXPECT_LE(std::count(begin, begin + 50, node), 20) << picker;
        }
      }
    }
  }
}

TEST(Cursors, SurviveANewTableAndStartAnewWithAnotherKind) {
  Rig rig(4);
  std::array<unsigned, 4> picks{};
  Exchange exchange;
  for (int i = 0; i < 400; ++i) {
    const Step step = exchange.begin(kPolicy, {true}, rig.place(), at(0s));
    ++picks[rig.index(step.node->ref)];
    exchange.give_up(0);
    rig.publish();  // a rotation that starts again with each Table would herd
  }
  for (const unsigned n : picks) EXPECT_EQ(n, 100U);
  rig.kind = pick::find("weighted_random");
  rig.publish();
  EXPECT_EQ(exchange.begin(kPolicy, {true}, rig.place(), at(0s)).kind, Kind::kTry);
  exchange.give_up(0);
}

}  // namespace
}  // namespace steelyard::request
