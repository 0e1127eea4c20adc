// Timers of every back end.
#include <gtest/gtest.h>

#include "steelyard/base/rng.h"

#include "test/conformance/reactor_rig.h"

namespace steelyard::io::conformance {
namespace {

class ReactorTimers : public testing::TestWithParam<Backend> {
 protected:
  struct Bell final : TimerEvents {
    void on_time() noexcept override {
      ++rung;
      at = reactor->now();
      if (then) then();
    }
    Reactor* reactor = nullptr;
    std::unique_ptr<Timer> timer;
    int rung = 0;
    TimePoint at{};
    std::function<void()> then;
  };
  void hang(Bell& bell) {
    bell.reactor = &reactor;
    bell.timer = reactor.timer(bell);
  }

  std::unique_ptr<Rig> rig = GetParam().make();
  Reactor& reactor = rig->reactor();
};

INSTANTIATE_TEST_SUITE_P(Backends, ReactorTimers, testing::ValuesIn(backends()),
                         [](const auto& row) { return row.param.name; });

TEST_P(ReactorTimers, FireOnceAndNeverEarly) {
  Bell bell;
  hang(bell);
  const TimePoint when = reactor.now() + 3ms;
  bell.timer->at(when);
  ASSERT_TRUE(rig->until([&] { return bell.rung > 0; }));
  EXPECT_GE(bell.at, when);
  rig->settle();
  EXPECT_EQ(bell.rung, 1);
}

TEST_P(ReactorTimers, OfThePastFireInTheNextTurn) {
  Bell bell;
  hang(bell);
  bell.timer->at(reactor.now() - 5s);
  EXPECT_EQ(bell.rung, 0);
  reactor.run_turn(reactor.now());
  EXPECT_EQ(bell.rung, 1);
}

TEST_P(ReactorTimers, FireInTheOrderOfTheirDeadlines) {
  base::Rng rng(11);
  constexpr std::size_t kBells = 500;
  std::vector<Bell> bells(kBells);
  const TimePoint start = reactor.now();
  TimePoint last = start;
  std::vector<TimePoint> when(kBells);
  bool ordered = true;
  std::size_t rung = 0;
  for (std::size_t i = 0; i < kBells; ++i) {
    hang(bells[i]);
    when[i] = start + Duration(rng.below(5'000'000));
    bells[i].then = [&, i] {
      ordered = ordered && when[i] >= last && bells[i].at >= when[i];
      last = when[i];
      ++rung;
    };
    bells[i].timer->at(when[i]);
  }
  ASSERT_TRUE(rig->until([&] { return rung == kBells; }));
  EXPECT_TRUE(ordered);
}

TEST_P(ReactorTimers, MovedLaterOrEarlierFireAtTheNewTime) {
  struct Row {
    std::string_view name;
    Duration first;
    Duration second;
  };
  for (const Row& row : {Row{"later", 1ms, 6ms}, Row{"earlier", 1h, 2ms}, Row{"same", 2ms, 2ms}}) {
    SCOPED_TRACE(row.name);
    Bell bell;
    hang(bell);
    const TimePoint start = reactor.now();
    bell.timer->at(start + row.first);
    bell.timer->at(start + row.second);
    ASSERT_TRUE(rig->until([&] { return bell.rung > 0; }));
    EXPECT_GE(bell.at, start + row.second);
    rig->settle();
    EXPECT_EQ(bell.rung, 1);
  }
}

TEST_P(ReactorTimers, CancelledDoNotFireUntilArmedAgain) {
  Bell bell;
  hang(bell);
  bell.timer->at(reactor.now() + 1ms);
  bell.timer->cancel();
  rig->settle();
  EXPECT_EQ(bell.rung, 0);
  bell.timer->at(reactor.now() + 1ms);
  ASSERT_TRUE(rig->until([&] { return bell.rung == 1; }));
}

TEST_P(ReactorTimers, RearmedInTheirCallbackFireOnceATurn) {
  Bell bell;
  hang(bell);
  bell.then = [&] { bell.timer->at(reactor.now()); };
  bell.timer->at(reactor.now());
  for (int i = 1; i <= 5; ++i) {
    reactor.run_turn(reactor.now());
    EXPECT_EQ(bell.rung, i);
  }
  bell.timer->cancel();
}

TEST_P(ReactorTimers, ThatAreDueTogetherCanCancelOrDestroyEachOther) {
  for (const bool destroy : {false, true}) {
    std::vector<Bell> bells(6);
    for (std::size_t i = 0; i < bells.size(); ++i) {
      hang(bells[i]);
      bells[i].timer->at(reactor.now() - 1ms);
      const std::size_t other = i ^ 1U;  // pairs: who rings first silences the other, and itself
      bells[i].then = [&, i, other] {
        if (destroy) {
          bells[other].timer.reset();
          bells[i].timer.reset();
        } else {
          bells[other].timer->cancel();
        }
      };
    }
    rig->settle();
    for (std::size_t i = 0; i < bells.size(); i += 2)
      EXPECT_EQ(bells[i].rung + bells[i + 1].rung, 1);
  }
  EXPECT_EQ(reactor.stats().timers, 0U);
}

// The use of idle time-outs: armed far ahead, pushed later with every request, hardly ever fired.
TEST_P(ReactorTimers, ManyPushedLaterAgainAndAgainFireOnlyWhenLeftAlone) {
  constexpr std::size_t kBells = 3000;
  std::vector<Bell> bells(kBells);
  for (auto& bell : bells) hang(bell);
  base::Rng rng(7);
  for (int round = 0; round < 20; ++round) {
    for (auto& bell : bells) bell.timer->at(reactor.now() + 10s + Duration(rng.below(1000)));
    reactor.run_turn(reactor.now());
  }
  for (const auto& bell : bells) EXPECT_EQ(bell.rung, 0);
  const TimePoint soon = reactor.now() + 1ms;
  for (std::size_t i = 0; i < kBells; i += 3) bells[i].timer->at(soon);
  for (std::size_t i = 1; i < kBells; i += 3) bells[i].timer.reset();
  ASSERT_TRUE(rig->until([&] { return bells[kBells - 3].rung == 1 && bells[0].rung == 1; }));
  rig->settle();
  for (std::size_t i = 0; i < kBells; ++i) EXPECT_EQ(bells[i].rung, i % 3 == 0 ? 1 : 0);
}

}  // namespace
}  // namespace steelyard::io::conformance
