// Statuses, slow nodes, budgets, rests and hedges; what breaks is in exchange_test.cc.
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

Policy with_statuses(unsigned attempts) {
  Policy policy;
  policy.retry.attempts = attempts;
  policy.retry.statuses = {502, 503, 504};
  return policy;
}

// A first attempt that waits for its head.
void ask(Exchange& exchange, const Policy& policy, Rig& rig, bool idempotent = true) {
  ASSERT_EQ(exchange.begin(policy, {idempotent}, rig.place(), at(0s)).kind, Kind::kTry);
  exchange.whole();
  exchange.connected(0, at(0s));
  exchange.sent(0, at(0s));
}

TEST(RetryRules, WhichAnswersAreTriedElsewhere) {
  struct Row {
    std::string_view name;
    unsigned status, attempts, nodes;
    bool idempotent, replayable, answered, again;
  };
  constexpr std::array rows{
      Row{"GET, 503", 503, 1, 2, true, true, false, true},
      Row{"GET, 500 is not chosen", 500, 1, 2, true, true, false, false},
      Row{"GET, 200", 200, 1, 2, true, true, false, false},
      Row{"POST, 503", 503, 1, 2, false, true, false, false},
      Row{"body is not kept", 503, 1, 2, true, false, false, false},
      Row{"an interim answer went out", 503, 1, 2, true, true, true, false},
      Row{"no retries", 503, 0, 2, true, true, false, false},
      Row{"no other node: it is passed on", 503, 1, 1, true, true, false, false},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    Rig rig(row.nodes);
    const Policy policy = with_statuses(row.attempts);
    Exchange exchange;
    ask(exchange, policy, rig, row.idempotent);
    const auto node = exchange.node(0);
    exchange.set_replayable(row.replayable);
    if (row.answered) exchange.answered();
    const Headed headed = exchange.head(0, row.status, {}, rig.place(), at(1ms));
    EXPECT_EQ(headed.pass, !row.again);
    EXPECT_EQ(headed.next.kind, row.again ? Kind::kTry : Kind::kWait);
    const auto& first = rig.cells(rig.index(node));
    if (row.again) {
      EXPECT_NE(headed.next.node->ref, node);
      EXPECT_EQ(first.failures.read(), 1U);
    } else {
      exchange.finished(0);
    }
    exchange.give_up(0);
    EXPECT_EQ(rig.in_flight(), 0U);
  }
}

TEST(RetryRules, AnAnswerIsPassedOnWhenTheAttemptsAreUsedUp) {
  for (const unsigned attempts : {1U, 2U}) {
    Rig rig(4);
    const Policy policy = with_statuses(attempts);
    Exchange exchange;
    ask(exchange, policy, rig);
    for (unsigned i = 0; i < attempts; ++i) {
      ASSERT_FALSE(exchange.head(0, 503, {}, rig.place(), at(1ms)).pass);
      exchange.connected(0, at(1ms));
      exchange.sent(0, at(1ms));
    }
    EXPECT_TRUE(exchange.head(0, 503, {}, rig.place(), at(1ms)).pass);
    exchange.finished(0);
    EXPECT_EQ(exchange.tries(), attempts + 1);
  }
}

TEST(RetryRules, EachKindOfFailureCanBeSwitchedOff) {
  for (const bool connecting : {true, false}) {
    Rig rig(3);
    Policy policy;
    policy.retry.connect = !connecting;
    policy.retry.broken = connecting;
    Exchange exchange;
    ASSERT_EQ(exchange.begin(policy, {true}, rig.place(), at(0s)).kind, Kind::kTry);
    if (!connecting) exchange.connected(0, at(0s));
    const auto error = node_error(connecting ? Code::kRefused : Code::kReset, connecting);
    EXPECT_EQ(exchange.failed(0, error, Broke::kFresh, rig.place(), at(1ms)).kind, Kind::kAnswer);
  }
}

TEST(Cases, RTY_07_ABudgetBoundsWhatAnOutageAdds) {
  Rig rig(5);
  const Policy policy = with_statuses(2);
  unsigned arrivals = 0;
  unsigned denied = 0;
  std::vector<std::unique_ptr<Exchange>> all;
  for (int i = 0; i < 1000; ++i) {  // parallel: all of them begin before any is answered
    all.push_back(std::make_unique<Exchange>());
    ask(*all.back(), policy, rig);
    ++arrivals;
  }
  for (auto& exchange : all) {
    for (;;) {
      const Headed headed = exchange->head(0, 503, {}, rig.place(), at(10ms));
      denied += headed.next.denied ? 1 : 0;
      if (headed.pass) break;
      ++arrivals;
      exchange->connected(0, at(10ms));
      exchange->sent(0, at(10ms));
    }
    exchange->finished(0);
  }
  EXPECT_EQ(arrivals, 1200U);
  EXPECT_GT(denied, 0U);
  EXPECT_EQ(rig.in_flight(), 0U);
}

TEST(RetryRules, TheBudgetAlsoHoldsForFailedConnectsAndCanBeOff) {
  for (const bool limited : {true, false}) {
    Rig rig(3);
    rig.rules.retry_budget = BudgetOptions{.ratio = 0, .floor = 0.1};  // one in ten seconds
    if (!limited) rig.rules.retry_budget.reset();
    rig.publish();
    const Policy policy;
    unsigned retries = 0;
    unsigned denied = 0;
    std::set<unsigned> refused;
    for (int i = 0; i < 20; ++i) {
      Exchange exchange;
      const Step first = exchange.begin(policy, {true}, rig.place(), at(0s));
      refused.insert(rig.index(first.node->ref));
      const Step step =
          exchange.failed(0, node_error(Code::kRefused, true), Broke::kFresh, rig.place(), at(0s));
      retries += step.kind == Kind::kTry ? 1 : 0;
      denied += step.denied ? 1 : 0;
      if (step.denied) {
        EXPECT_EQ(step.reason, refused.size() == 3 ? Reason::kNoNode : Reason::kConnectFailed);
      }
      exchange.give_up(0);
    }
    EXPECT_EQ(retries, limited ? 1U : 20U);
    EXPECT_EQ(denied, limited ? 19U : 0U);
  }
}

TEST(RetryRules, ANodeThatAskedForRestIsLeftAloneWhileThereAreOthers) {
  Rig rig(2);
  const Policy policy;
  Exchange exchange;
  ask(exchange, policy, rig);
  const auto tired = exchange.node(0);
  EXPECT_TRUE(exchange.head(0, 503, 5s, rig.place(), at(0s)).pass);
  exchange.finished(0);
  const auto picks = [&](base::Duration when) {
    unsigned count = 0;
    for (int i = 0; i < 10; ++i) {
      Exchange one;
      count += one.begin(policy, {true}, rig.place(), at(when)).node->ref == tired ? 1U : 0U;
      one.give_up(0);
    }
    return count;
  };
  EXPECT_EQ(picks(1ms), 0U);
  EXPECT_EQ(picks(4999ms), 0U);
  EXPECT_EQ(picks(5s), 5U);
}

TEST(RetryRules, WhereAllNodesRestTheyAreAskedButNotTriedAgain) {
  Rig rig(2);
  const Policy policy = with_statuses(1);
  Exchange exchange;
  ask(exchange, policy, rig);
  ASSERT_FALSE(exchange.head(0, 503, 5s, rig.place(), at(0s)).pass);
  exchange.connected(0, at(0s));
  exchange.sent(0, at(0s));
  EXPECT_TRUE(exchange.head(0, 503, 5s, rig.place(), at(0s)).pass);
  exchange.finished(0);
  Exchange next;
  ask(next, policy, rig);
  EXPECT_TRUE(next.head(0, 503, 5s, rig.place(), at(1s)).pass);  // the other one rests
  next.finished(0);
}

TEST(RetryRules, ARestIsBounded) {
  Rig rig(2);
  rig.state().rests.add(rig.nodes[0].ref, 24h, at(0s));
  std::array<model::NodeRef, Rests::kMost> out;
  EXPECT_EQ(rig.state().rests.copy(out, at(59s)), 1U);
  EXPECT_EQ(rig.state().rests.copy(out, at(60s)), 0U);
  EXPECT_TRUE(rig.state().rests.empty());
}

TEST(RetryRules, ASlowNodeMakesRoomForAnotherOrIsWaitedFor) {
  for (const unsigned nodes : {1U, 2U}) {
    SCOPED_TRACE(nodes);
    Rig rig(nodes);
    Policy policy;
    policy.retry.timeout = 200ms;
    Exchange exchange;
    ask(exchange, policy, rig);
    const auto slow = exchange.node(0);
    EXPECT_EQ(exchange.deadline(), at(200ms));
    const Step step = exchange.on_time(Stall::kNode, rig.place(), at(200ms));
    if (nodes == 1) {
      EXPECT_EQ(step.kind, Kind::kWait);
      EXPECT_EQ(exchange.deadline(), at(10s));
    } else {
      ASSERT_EQ(step.kind, Kind::kTry);
      EXPECT_NE(step.node->ref, slow);
      EXPECT_TRUE(step.urgent);
      EXPECT_EQ(rig.cells(rig.index(slow)).timeouts.read(), 1U);
      exchange.connected(0, at(200ms));
      exchange.sent(0, at(200ms));
      EXPECT_EQ(exchange.deadline(), at(10200ms));  // the last attempt has the time for a head
    }
    EXPECT_EQ(rig.in_flight(), 1U);
    exchange.give_up(0);
  }
}

TEST(RetryRules, APostIsNotTakenFromASlowNode) {
  Rig rig(2);
  Policy policy;
  policy.retry.timeout = 200ms;
  Exchange exchange;
  ask(exchange, policy, rig, false);
  EXPECT_EQ(exchange.deadline(), at(10s));
  exchange.give_up(0);
}

TEST(HedgeRules, ASecondNodeIsAskedAndWhoAnswersFirstWins) {
  Rig rig(3);
  Policy policy;
  policy.hedge = HedgeOptions{.after = 20ms};
  Exchange exchange;
  ask(exchange, policy, rig);
  const auto slow = exchange.node(0);
  EXPECT_EQ(exchange.deadline(), at(20ms));
  const Step step = exchange.on_time(Stall::kNode, rig.place(), at(20ms));
  ASSERT_EQ(step.kind, Kind::kTry);
  EXPECT_TRUE(step.hedge);
  EXPECT_EQ(step.attempt, 1);
  EXPECT_NE(step.node->ref, slow);
  EXPECT_EQ(rig.in_flight(), 2U);
  exchange.connected(1, at(21ms));
  exchange.sent(1, at(21ms));
  const Headed headed = exchange.head(1, 200, {}, rig.place(), at(25ms));
  EXPECT_TRUE(headed.pass);
  EXPECT_EQ(headed.loser, 0U);
  exchange.give_up(*headed.loser);
  exchange.finished(1);
  EXPECT_EQ(rig.in_flight(), 0U);
  EXPECT_EQ(rig.cells(rig.index(slow)).failures.read(), 0U);
  EXPECT_EQ(rig.cells(rig.index(slow)).successes.read(), 0U);
}

TEST(HedgeRules, WhatIsNotHedged) {
  struct Row {
    std::string_view name;
    bool idempotent, whole, replayable, budget;
    unsigned nodes;
  };
  constexpr std::array rows{Row{"POST", false, true, true, true, 3},
                            Row{"a request that is not here yet", true, false, true, true, 3},
                            Row{"a body that is not kept", true, true, false, true, 3},
                            Row{"no budget", true, true, true, false, 3},
                            Row{"no other node", true, true, true, true, 1}};
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    Rig rig(row.nodes);
    if (!row.budget) rig.rules.retry_budget = BudgetOptions{.ratio = 0, .floor = 0};
    rig.publish();
    Policy policy;
    policy.hedge = HedgeOptions{.after = 20ms};
    Exchange exchange;
    (void)exchange.begin(policy, {row.idempotent}, rig.place(), at(0s));
    if (row.whole) exchange.whole();
    exchange.set_replayable(row.replayable);
    exchange.connected(0, at(0s));
    exchange.sent(0, at(0s));
    const Step step = exchange.on_time(Stall::kNode, rig.place(), at(20ms));
    EXPECT_EQ(step.kind, Kind::kWait);
    EXPECT_EQ(step.denied, !row.budget);
    EXPECT_EQ(exchange.deadline(), at(10s));
    exchange.give_up(0);
  }
}

TEST(HedgeRules, TheDelayIsTheMeasuredP95) {
  Rig rig(2);
  Policy policy;
  policy.hedge = HedgeOptions{};
  Exchange unknown;
  ask(unknown, policy, rig);
  EXPECT_EQ(unknown.deadline(), at(10s));  // not known yet: not hedged
  unknown.give_up(0);
  Rig known(2);
  for (int i = 1; i <= 1000; ++i) known.state().latency.add(i * 100us, at(-2s));
  Exchange exchange;
  ask(exchange, policy, known);
  EXPECT_NEAR(base::seconds(exchange.deadline() - at(0s)), 0.095, 0.007);
  exchange.give_up(0);
  policy.hedge->least = 300ms;
  ask(exchange, policy, known);
  EXPECT_EQ(exchange.deadline(), at(300ms));
  exchange.give_up(0);
}

TEST(HedgeRules, WhenOneBreaksTheOtherGoesOn) {
  for (const unsigned broken : {0U, 1U}) {
    Rig rig(3);
    Policy policy;
    policy.hedge = HedgeOptions{.after = 20ms};
    Exchange exchange;
    ask(exchange, policy, rig);
    ASSERT_EQ(exchange.on_time(Stall::kNode, rig.place(), at(20ms)).kind, Kind::kTry);
    exchange.connected(1, at(20ms));
    exchange.sent(1, at(20ms));
    const Step step = exchange.failed(broken, node_error(Code::kReset, false), Broke::kFresh,
                                      rig.place(), at(30ms));
    EXPECT_EQ(step.kind, Kind::kWait);
    EXPECT_EQ(rig.in_flight(), 1U);
    EXPECT_TRUE(exchange.head(1 - broken, 200, {}, rig.place(), at(40ms)).pass);
    exchange.finished(1 - broken);
    EXPECT_EQ(rig.in_flight(), 0U);
  }
}

TEST(HedgeRules, OneInAHundredSlowAnswersCostsFewExtraRequests) {
  // 1 % of the answers take 100 times as long: p99.9 falls at least to a fifth for at most 5 %
  // more.
  const auto run = [](bool hedged, double ratio, unsigned& extra) {
    Rig rig(4);
    rig.rules.retry_budget = BudgetOptions{.ratio = ratio, .floor = 0};
    rig.publish();
    Policy policy;
    if (hedged) policy.hedge = HedgeOptions{};
    std::vector<double> took;
    base::TimePoint now = at(0s);
    const auto draw = [&] {
      return rig.rng.below(100) == 0 ? 1s : 8ms + rig.rng.below(4000) * 1us;
    };
    for (int i = 0; i < 20'000; ++i, now += 5ms) {
      Exchange exchange;
      EXPECT_EQ(exchange.begin(policy, {true}, rig.place(), now).kind, Kind::kTry);
      exchange.whole();
      exchange.connected(0, now);
      exchange.sent(0, now);
      const base::TimePoint first = now + draw();
      base::TimePoint done = first;
      unsigned winner = 0;
      const auto hedge = exchange.deadline();
      if (hedge < first) {
        const Step step = exchange.on_time(Stall::kNode, rig.place(), hedge);
        if (step.kind == Kind::kTry) {
          ++extra;
          exchange.connected(1, hedge);
          exchange.sent(1, hedge);
          const base::TimePoint second = hedge + draw();
          winner = second < first ? 1 : 0;
          done = std::min(first, second);
        }
      }
      const Headed headed = exchange.head(winner, 200, {}, rig.place(), done);
      if (headed.loser) exchange.give_up(*headed.loser);
      exchange.finished(winner);
      took.push_back(base::seconds(done - now));
    }
    std::sort(took.begin(), took.end());
    return took[took.size() * 999 / 1000];
  };
  unsigned extra = 0;
  const double plain = run(false, 0.2, extra);
  EXPECT_EQ(extra, 0U);
  const double hedged = run(true, 0.2, extra);
  EXPECT_LE(hedged, plain / 5);
  EXPECT_LE(extra, 20'000U * 7 / 100);  // the P95 itself, and the sketch's error
  EXPECT_GT(extra, 200U);
  unsigned none = 0;
  (void)run(true, 0, none);
  EXPECT_EQ(none, 0U);
}

}  // namespace
}  // namespace steelyard::request
