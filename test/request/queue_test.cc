// Limits and the queue before them.
#include <array>
#include <deque>
#include <gtest/gtest.h>

#include "test/request/rig.h"

namespace steelyard::request {
namespace {

using namespace std::chrono_literals;
using testing::at;
using testing::Rig;
using Kind = Step::Kind;

const Policy kPolicy{};

// Wakes as a driver does; gives those that went on, in order.
std::vector<std::pair<Exchange*, Step>> wake(Rig& rig, base::TimePoint now) {
  std::vector<std::pair<Exchange*, Step>> out;
  for (std::size_t i = 0; i < rig.states.size(); ++i) {
    while (Waiter* const first = rig.states.at(i).queue.first()) {
      auto& exchange = *static_cast<Exchange*>(first);
      const Step step = exchange.wake(rig.place(), now);
      if (exchange.waiting()) break;
      out.emplace_back(&exchange, step);
    }
  }
  return out;
}

TEST(Limits, ANodeTakesItsMostAndNotOneMore) {
  for (const unsigned workers : {1U, 3U}) {
    Rig rig(2, "round_robin", workers);
    rig.rules.limits.max_in_flight = 3;
    rig.publish();
    std::deque<Exchange> running;
    for (unsigned i = 0; i < 6; ++i) {
      running.emplace_back();
      Place place = rig.place();
      place.worker = i % workers;
      ASSERT_EQ(running.back().begin(kPolicy, {true}, place, at(0s)).kind, Kind::kTry) << i;
    }
    EXPECT_EQ(rig.slots.in_flight(rig.nodes[0].ref), 3U);
    EXPECT_EQ(rig.slots.in_flight(rig.nodes[1].ref), 3U);
    Exchange above;
    const Step step = above.begin(kPolicy, {true}, rig.place(), at(0s));
    EXPECT_EQ(step.kind, Kind::kAnswer);
    EXPECT_EQ(step.reason, Reason::kAllBusy);
    EXPECT_GT(describe(step.reason).retry_after, 0);
    running[0].give_up(0);
    EXPECT_EQ(above.begin(kPolicy, {true}, rig.place(), at(0s)).kind, Kind::kTry);
    above.give_up(0);
    for (auto& one : running) one.give_up(0);
    EXPECT_EQ(rig.in_flight(), 0U);
  }
}

TEST(Limits, ATrialStaysAtOneBelowAnyLimitAndALimitGoesWithItsOption) {
  Rig rig(1);
  auto& line = rig.slots.line(rig.nodes[0].ref);
  rig.rules.limits.max_in_flight = 7;
  rig.publish();
  EXPECT_EQ(line.most(), 7U);
  line.max_in_flight = 1;
  EXPECT_EQ(line.most(), 1U);
  line.max_in_flight = 0;
  rig.rules.limits.max_in_flight = 0;
  rig.publish();
  EXPECT_EQ(line.most(), 0U);
}

TEST(Limits, AGradientBeginsAtItsLeastAndIsKeptOverTables) {
  Rig rig(2);
  rig.rules.limits = {
      .concurrency = Concurrency::kGradient, .max_in_flight = 50, .min_in_flight = 10};
  rig.publish();
  auto& line = rig.slots.line(rig.nodes[0].ref);
  EXPECT_EQ(line.most(), 10U);
  line.set_limit(30.5);
  rig.publish();
  EXPECT_EQ(line.limit(), 30.5);
  EXPECT_EQ(line.most(), 30U);
  rig.rules.limits.max_in_flight = 20;
  rig.publish();
  EXPECT_EQ(line.most(), 20U);
}

struct QueueRules : ::testing::Test {
  QueueRules() {
    rig.rules.limits.max_in_flight = 1;
    rig.rules.queue = {.size = 3, .timeout = 100ms};
    rig.publish();
  }
  Rig rig{1};
};

TEST_F(QueueRules, FirstComeFirstServed) {
  std::deque<Exchange> all(5);
  ASSERT_EQ(all[0].begin(kPolicy, {true}, rig.place(), at(0s)).kind, Kind::kTry);
  for (int i = 1; i < 4; ++i) {
    EXPECT_EQ(all[i].begin(kPolicy, {true}, rig.place(), at(i * 1ms)).kind, Kind::kWait);
    EXPECT_TRUE(all[i].waiting());
    EXPECT_EQ(all[i].deadline(), at(100ms + i * 1ms));
  }
  const Step full = all[4].begin(kPolicy, {true}, rig.place(), at(4ms));
  EXPECT_EQ(full.reason, Reason::kQueueFull);
  EXPECT_EQ(describe(full.reason).status, 503);
  EXPECT_TRUE(wake(rig, at(5ms)).empty());
  for (int i = 1; i < 4; ++i) {
    all[i - 1].give_up(0);
    const auto woken = wake(rig, at(10ms));
    ASSERT_EQ(woken.size(), 1U);
    EXPECT_EQ(woken[0].first, &all[i]);
    EXPECT_EQ(woken[0].second.kind, Kind::kTry);
    EXPECT_EQ(rig.in_flight(), 1U);
  }
  all[3].give_up(0);
  EXPECT_EQ(rig.in_flight(), 0U);
}

TEST_F(QueueRules, ANewcomerDoesNotPassThoseWhoWait) {
  Exchange running, waiting, late;
  (void)running.begin(kPolicy, {true}, rig.place(), at(0s));
  (void)waiting.begin(kPolicy, {true}, rig.place(), at(0s));
  running.give_up(0);  // a token is free, but nobody has looked yet
  EXPECT_EQ(late.begin(kPolicy, {true}, rig.place(), at(1ms)).kind, Kind::kWait);
  const auto woken = wake(rig, at(1ms));
  ASSERT_EQ(woken.size(), 1U);
  EXPECT_EQ(woken[0].first, &waiting);
  late.leave_queue();
  waiting.give_up(0);
}

TEST_F(QueueRules, WhoWaitedTooLongIsTurnedAway) {
  Exchange running, waiting;
  (void)running.begin(kPolicy, {true}, rig.place(), at(0s));
  (void)waiting.begin(kPolicy, {true}, rig.place(), at(0s));
  EXPECT_EQ(waiting.on_time(Stall::kNode, rig.place(), at(99ms)).kind, Kind::kWait);
  const Step step = waiting.on_time(Stall::kNode, rig.place(), at(100ms));
  EXPECT_EQ(step.kind, Kind::kAnswer);
  EXPECT_EQ(step.reason, Reason::kQueueTimeout);
  EXPECT_FALSE(waiting.waiting());
  EXPECT_TRUE(rig.state().queue.empty());
  running.give_up(0);
}

TEST_F(QueueRules, TheTotalTimeCoversTheQueue) {
  Policy policy;
  policy.timeouts.total = 50ms;
  Exchange running, waiting;
  (void)running.begin(kPolicy, {true}, rig.place(), at(0s));
  (void)waiting.begin(policy, {true}, rig.place(), at(0s));
  EXPECT_EQ(waiting.deadline(), at(50ms));
  EXPECT_EQ(waiting.on_time(Stall::kNode, rig.place(), at(50ms)).reason, Reason::kTotalTimeout);
  (void)waiting.begin(policy, {true}, rig.place(), at(0s));
  running.give_up(0);
  ASSERT_EQ(wake(rig, at(30ms)).size(), 1U);
  EXPECT_EQ(waiting.deadline(), at(50ms));  // what it waited is gone
  waiting.give_up(0);
}

TEST(QueueChanges, WhoseUpstreamVanishesOrHasNoNodeIsTold) {
  for (const bool gone : {true, false}) {
    Rig rig(1);
    rig.rules.limits.max_in_flight = 1;
    rig.rules.queue.size = 3;
    rig.publish();
    Exchange running, waiting;
    (void)running.begin(kPolicy, {true}, rig.place(), at(0s));
    (void)waiting.begin(kPolicy, {true}, rig.place(), at(0s));
    rig.gone = gone;
    rig.nodes[0].eligibility = model::Eligibility::kOut;
    rig.publish();
    const auto woken = wake(rig, at(1ms));
    ASSERT_EQ(woken.size(), 1U);
    EXPECT_EQ(woken[0].second.reason, gone ? Reason::kNoUpstream : Reason::kNoNode);
    rig.publish();
    EXPECT_EQ(rig.states.size(), gone ? 0U : 1U);
    running.give_up(0);
  }
}

TEST_F(QueueRules, ADeadWaiterLeavesTheQueue) {
  Exchange running;
  (void)running.begin(kPolicy, {true}, rig.place(), at(0s));
  {
    Exchange waiting;
    (void)waiting.begin(kPolicy, {true}, rig.place(), at(0s));
    EXPECT_EQ(rig.state().queue.size(), 1U);
  }
  EXPECT_TRUE(rig.state().queue.empty());
  running.give_up(0);
}

TEST(DeadlineRules, WhatTheClientGivesShortensTheTotal) {
  struct Row {
    std::string_view name;
    std::optional<base::Duration> total, given, want;
  };
  const std::array rows{Row{"neither", {}, {}, {}}, Row{"given", {}, 2s, 2s},
                        Row{"the shorter is given", 5s, 2s, 2s},
                        Row{"the shorter is ours", 1s, 2s, 1s}};
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    Rig rig(1);
    Policy policy;
    policy.timeouts.total = row.total;
    Exchange exchange;
    (void)exchange.begin(policy, {.idempotent = true, .key = 0, .given = row.given}, rig.place(),
                         at(0s));
    EXPECT_EQ(exchange.total_deadline(), row.want ? at(*row.want) : base::TimePoint::max());
    exchange.give_up(0);
  }
  Rig rig(1);
  Exchange exchange;
  const Step step =
      exchange.begin(kPolicy, {.idempotent = true, .key = 0, .given = 0s}, rig.place(), at(0s));
  EXPECT_EQ(step.reason, Reason::kTotalTimeout);
}

TEST(DeadlineRules, ATryThatWouldComeTooLateIsNotMade) {
  Rig rig(3);
  for (int i = 0; i < 200; ++i) rig.state().latency.add(100ms, at(-2s));
  Policy policy;
  policy.timeouts.total = 1s;
  for (const auto when : {850ms, 950ms}) {
    Exchange exchange;
    (void)exchange.begin(policy, {true}, rig.place(), at(0s));
    const Step step = exchange.failed(0, testing::node_error(base::Code::kRefused, true),
                                      Broke::kFresh, rig.place(), at(when));
    EXPECT_EQ(step.kind, when == 850ms ? Kind::kTry : Kind::kAnswer);
    exchange.give_up(0);
  }
}

TEST(DeadlineRules, TheTimeForTheHeadCanFollowTheP99) {
  struct Row {
    std::string_view name;
    base::Duration answers, low, high;
  };
  constexpr std::array rows{Row{"so many times the P99", 100ms, 280ms, 320ms},
                            Row{"never above `head`", 5s, 10s, 10s},
                            Row{"at least", 1ms, 50ms, 50ms}};
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    Rig rig(1);
    Policy policy;
    policy.timeouts.head_factor = 3;
    for (int i = 0; i < 200; ++i) rig.state().latency.add(row.answers, at(-2s));
    Exchange exchange;
    (void)exchange.begin(policy, {true}, rig.place(), at(0s));
    exchange.connected(0, at(0s));
    exchange.sent(0, at(0s));
    EXPECT_GE(exchange.deadline(), at(row.low));
    EXPECT_LE(exchange.deadline(), at(row.high));
    exchange.give_up(0);
  }
}

}  // namespace
}  // namespace steelyard::request
