// What is counted, and that every token goes back, however exchanges go.
#include <array>
#include <gtest/gtest.h>
#include <memory>
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

TEST(Cases, LCN_03_AFailedConnectGivesItsTokenBackOnce) {
  struct Row {
    std::string_view name;
    Code code;
  };
  for (const Row& row : {Row{"refused", Code::kRefused}, Row{"timed out", Code::kTimeout},
                         Row{"reset", Code::kReset}, Row{"unreachable", Code::kUnreachable}}) {
    SCOPED_TRACE(row.name);
    Rig rig(2);
    rig.rules.retry_budget.reset();
    rig.publish();
    const Policy policy;
    for (int i = 0; i < 500; ++i) {
      Exchange exchange;
      (void)exchange.begin(policy, {true}, rig.place(), at(0s));
      const Step step =
          exchange.failed(0, node_error(row.code, true), Broke::kFresh, rig.place(), at(1ms));
      ASSERT_EQ(step.kind, Kind::kTry);
      EXPECT_EQ(rig.in_flight(), 1U);
      exchange.give_up(0);
      exchange.give_up(0);  // once more changes nothing
      exchange.finished(0);
      EXPECT_EQ(rig.in_flight(), 0U);
    }
    std::uint64_t attempts = 0;
    std::uint64_t retries = 0;
    for (const auto& node : rig.nodes) {
      attempts += rig.slots.cells(node.ref, 0).attempts.read();
      retries += rig.slots.cells(node.ref, 0).retries.read();
    }
    EXPECT_EQ(attempts, 1000U);
    EXPECT_EQ(retries, 500U);
  }
}

TEST(Cases, LCN_10_InFlightIsSharedByTheWorkers) {
  Rig rig(3, "least_connections", 4);
  const Policy policy;
  std::vector<std::unique_ptr<Exchange>> running;
  for (std::uint32_t i = 0; i < 12; ++i) {
    Place place = rig.place();
    place.worker = i % 4;
    running.push_back(std::make_unique<Exchange>());
    ASSERT_EQ(running.back()->begin(policy, {true}, place, at(0s)).kind, Kind::kTry);
  }
  for (const auto& node : rig.nodes) EXPECT_EQ(rig.slots.in_flight(node.ref), 4U);
  for (auto& one : running) one->give_up(0);
  EXPECT_EQ(rig.in_flight(), 0U);
}

// One exchange with what its driver keeps of it.
struct Live {
  Exchange rules;
  std::set<std::uint32_t> tried;
  std::array<bool, Exchange::kAttempts> headed{};
  bool over = true;
};

// Random events to many exchanges under one limit; after each, what must always hold.
TEST(Counts, HoldWhateverHappensInWhateverOrder) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(seed);
    base::Rng rng(seed);
    Rig rig(4, seed % 2 == 0 ? "least_connections" : "round_robin");
    rig.rules.limits.max_in_flight = 3;
    rig.rules.queue = {.size = 5, .timeout = 30ms};
    if (seed % 3 == 0) rig.rules.limits.concurrency = Concurrency::kGradient;
    if (seed % 3 == 0) rig.rules.limits.min_in_flight = 2;
    rig.publish();
    Policy policy;
    policy.timeouts = {.connect = 50ms, .head = 200ms, .idle = 300ms, .total = 900ms};
    policy.retry = {.attempts = 2, .statuses = {503}, .timeout = 100ms};
    policy.hedge = HedgeOptions{.after = 20ms};
    std::array<Live, 30> all;
    base::TimePoint now = at(0s);

    const auto done = [&](Live& live) {
      for (unsigned i = 0; i < Exchange::kAttempts; ++i) live.rules.give_up(i);
      live.rules.leave_queue();
      live.over = true;
    };
    const auto act = [&](Live& live, const Step& step) {
      if (step.kind == Kind::kTry) {
        const bool again = !live.tried.insert(step.node->ref.slot).second;
        EXPECT_TRUE(!again || step.fresh);  // only a stale connection's node is tried twice
        EXPECT_TRUE(live.rules.running(step.attempt));
        live.headed[step.attempt] = false;
        EXPECT_LE(live.rules.tries(), 6U);
      } else if (step.kind != Kind::kWait) {
        done(live);
      }
    };
    const auto wake = [&] {
      while (Waiter* const first = rig.state().queue.first()) {
        auto* const exchange = static_cast<Exchange*>(first);
        const auto live =
            std::find_if(all.begin(), all.end(), [&](Live& one) { return &one.rules == exchange; });
        const Step step = exchange->wake(rig.place(), now);
        if (exchange->waiting()) break;
        act(*live, step);
      }
    };
    for (int i = 0; i < 5000; ++i) {
      now += base::Duration(rng.below(800'000));
      Live& live = all[rng.below(all.size())];
      const auto which = static_cast<unsigned>(rng.below(2));
      if (live.over) {
        live.over = false;
        live.tried.clear();
        act(live, live.rules.begin(policy, {rng.below(3) > 0}, rig.place(), now));
        if (rng.below(2) == 0) live.rules.whole();
      } else if (now >= live.rules.deadline()) {
        // A few calls lead past every deadline that has come.
        for (int calls = 0; !live.over && now >= live.rules.deadline(); ++calls) {
          ASSERT_LT(calls, 4);
          act(live, live.rules.on_time(rng.below(4) == 0 ? Stall::kClient : Stall::kNode,
                                       rig.place(), now));
        }
      } else if (live.rules.waiting()) {
        if (rng.below(10) == 0) done(live);
      } else if (live.rules.running(which)) {
        switch (rng.below(8)) {
          case 0:
          case 1:
            live.rules.connected(which, now);
            break;
          case 2:
            live.rules.whole();
            live.rules.connected(which, now);
            live.rules.sent(which, now);
            break;
          case 3: {
            const auto where = live.headed[which]  ? Broke::kInAnswer
                               : rng.below(2) == 0 ? Broke::kReused
                                                   : Broke::kFresh;
            act(live, live.rules.failed(which, node_error(Code::kReset, rng.below(2) == 0), where,
                                        rig.place(), now));
            break;
          }
          case 4: {
            if (live.headed[which]) break;
            const Headed headed = live.rules.head(
                which, rng.below(2) == 0 ? 503 : 200,
                rng.below(9) == 0 ? std::optional<base::Duration>(1s) : std::nullopt, rig.place(),
                now);
            if (!headed.pass) {
              act(live, headed.next);
              break;
            }
            live.rules.answered();
            live.headed[which] = true;
            if (headed.loser) live.rules.give_up(*headed.loser);
            if (rng.below(5) == 0) live.rules.tunnel(which, 100ms);
            break;
          }
          case 5:
            if (!live.headed[which]) break;
            live.rules.finished(which);
            done(live);
            break;
          case 6:
            if (rng.below(4) == 0) done(live);
            break;
          default:
            live.rules.moved(now);
        }
      }
      wake();
      if (rng.below(50) == 0) {
        rig.nodes[rng.below(4)].eligibility =
            rng.below(3) == 0 ? model::Eligibility::kDraining : model::Eligibility::kUsable;
        rig.publish();
        wake();
      }
      unsigned running = 0;
      for (const Live& one : all) {
        running += (one.rules.running(0) ? 1 : 0) + (one.rules.running(1) ? 1 : 0);
        EXPECT_FALSE(one.rules.waiting() && (one.rules.running(0) || one.rules.running(1)));
      }
      ASSERT_EQ(rig.in_flight(), running);
      for (const auto& node : rig.nodes) {
        ASSERT_LE(rig.slots.in_flight(node.ref), rig.rules.limits.ceiling());
      }
      ASSERT_LE(rig.state().queue.size(), 5U);
    }
    for (Live& live : all) done(live);
    EXPECT_EQ(rig.in_flight(), 0U);
    EXPECT_TRUE(rig.state().queue.empty());
    for (unsigned i = 0; i < 4; ++i) {
      auto& cells = rig.cells(i);
      EXPECT_LE(cells.successes.read() + cells.failures.read() + cells.connect_failures.read(),
                cells.attempts.read());
      EXPECT_GT(cells.successes.read(), 0U);
      EXPECT_GT(cells.failures.read(), 0U);
    }
  }
}

}  // namespace
}  // namespace steelyard::request
