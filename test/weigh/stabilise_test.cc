#include "steelyard/weigh/stabilise.h"

#include <array>
#include <cmath>
#include <gtest/gtest.h>
#include <string_view>
#include <vector>

#include "steelyard/weigh/gain.h"

namespace steelyard::weigh {
namespace {

using std::chrono::seconds;

struct Outcome {
  Moved moved;
  std::vector<model::StageValue> stages;
};

Outcome go(const Move& move, const Limits& limits) {
  Outcome out;
  out.moved = stabilise(move, limits, out.stages);
  return out;
}

TEST(Stabilise, PassesTheStagesInTheirFixedOrder) {
  const auto out = go({.base = 2, .applied = 1, .wanted = 1.2}, {.threshold = 0.02});
  ASSERT_EQ(out.stages.size(), 4U);
  constexpr std::array<std::string_view, 4> kOrder{"trust", "threshold", "step", "cooldown"};
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(out.stages[i].stage, kOrder[i]);
  EXPECT_DOUBLE_EQ(out.stages[1].value, 2.4);  // base units
}

TEST(Stabilise, EachStageBitesWithItsReason) {
  Limits reload{.threshold = 0.2, .cooldown = seconds(30)};
  Limits own{.threshold = 0.02};
  const auto undamped = [](double applied, double wanted) {
    return Move{.applied = applied, .wanted = wanted, .alpha = 0.3};
  };
  Move contradicted = undamped(1, 1.4);
  contradicted.objection = "its error rate is 9 %, the upstream's median 0 %";
  Move contradicted_fall = undamped(1, 0.7);
  contradicted_fall.objection = contradicted.objection;
  Move resting = undamped(1, 1.4);
  resting.since_change = seconds(12);
  Move rested = undamped(1, 1.4);
  rested.since_change = seconds(30);
  Move urgent = undamped(1, 0.5);
  urgent.since_change = seconds(1);
  Move late = undamped(1, 1.4);
  late.lag = 2;
  late.alpha = 1;
  Move late_urgent = undamped(1, 0.5);
  late_urgent.lag = 5;

  struct Row {
    std::string_view name;
    Move move;
    Limits limits;
    double want;
    std::string_view stage, why;
    bool held;
  };
  const std::array rows{
      Row{"nothing wanted", undamped(1, 1), own, 1, "", "", false},
      Row{"within all limits", undamped(1, 1.4), own, 1.4, "", "", false},
      Row{"a rise that is contradicted", contradicted, own, 1, "trust",
          "may not gain: its error rate is 9 %, the upstream's median 0 %", true},
      Row{"a fall is never contradicted", contradicted_fall, own, 0.7, "", "", false},
      Row{"below the threshold", undamped(1, 1.19), reload, 1, "threshold",
          "19 % off, below the threshold of 20 %", true},
      Row{"at the threshold", undamped(1, 1.2), reload, 1.2, "", "", false},
      Row{"small for a target of our own", undamped(1, 1.01), own, 1, "threshold",
          "1 % off, below the threshold of 2 %", true},
      Row{"up at most by half", undamped(1, 9), own, 1.5, "step", "limited to ×1.5", false},
      Row{"down at most to half", undamped(1, 0.01), own, 0.5, "step", "limited to ÷2", false},
      Row{"in the cooldown", resting, reload, 1, "cooldown", "changed 12 s ago, cooldown 30 s",
          true},
      Row{"after the cooldown", rested, reload, 1.4, "", "", false},
      Row{"a drop to half skips the cooldown", urgent, reload, 0.5, "", "", false},
      Row{"a late signal moves less", late, own, std::pow(1.4, gain(2, 1)), "step",
          "damped to 21 % of the way: the signal is 2 steps old", false},
      Row{"a drop to half is not damped", late_urgent, own, 0.5, "", "", false},
  };
  for (const Row& row : rows) {
    const auto out = go(row.move, row.limits);
    EXPECT_NEAR(out.moved.control, row.want, 1e-9) << row.name;
    EXPECT_EQ(out.moved.held, row.held) << row.name;
    for (const auto& stage : out.stages) {
      EXPECT_EQ(stage.bit, stage.stage == row.stage) << row.name << ": " << stage.stage;
      EXPECT_EQ(stage.why, stage.stage == row.stage ? row.why : "") << row.name;
    }
  }
}

TEST(Stabilise, ADropOfHalfSkipsAThresholdHoweverWide) {
  EXPECT_DOUBLE_EQ(
      go({.applied = 1, .wanted = 0.5, .alpha = 0.3}, {.threshold = 0.9}).moved.control, 0.5);
  EXPECT_DOUBLE_EQ(
      go({.applied = 1, .wanted = 0.51, .alpha = 0.3}, {.threshold = 0.9}).moved.control, 1);
}

// What the threshold lets pass is the whole wish; the step limit then cuts it; the cooldown then
// decides. In another order a large wish cut to a small step would be swallowed by the threshold.
TEST(Stabilise, TheThresholdSeesTheWishNotTheStep) {
  const Limits limits{.threshold = 0.6};
  EXPECT_DOUBLE_EQ(go({.applied = 1, .wanted = 4, .alpha = 0.3}, limits).moved.control, 1.5);
}

TEST(Stabilise, ReachesItsTargetExactly) {
  const auto out = go({.applied = 0.7, .wanted = 0.9123, .alpha = 0.3}, {});
  EXPECT_EQ(out.moved.control, 0.9123);
}

}  // namespace
}  // namespace steelyard::weigh
