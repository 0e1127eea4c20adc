#include "steelyard/control/meter.h"

#include <gtest/gtest.h>

#include "test/control/rig.h"

namespace steelyard::control {
namespace {

void fail(model::WorkerCells& cells, int times) {
  for (int i = 0; i < times; ++i) cells.failures.add(1), cells.failure_streak.add(1);
}

TEST(Meter, SumsTheWorkersAndLeavesOutTheFormerOwner) {
  model::Slots slots(4, 3);
  const auto ref = *slots.claim();
  slots.cells(ref, 0).attempts.add(100);
  slots.cells(ref, 0).head_latency.add(1ms);
  Meter meter(slots, ref);
  slots.cells(ref, 0).attempts.add(1);
  slots.cells(ref, 2).attempts.add(2);
  slots.cells(ref, 1).successes.add(1);
  slots.cells(ref, 1).head_latency.add(5ms);
  const auto& sample = meter.read(slots, base::TimePoint{1s});
  EXPECT_EQ(sample.attempts, 3U);
  EXPECT_EQ(sample.successes, 1U);
  EXPECT_EQ(sample.head_latency.count(), 1U);
  EXPECT_EQ(meter.counts(slots).head_latency.count(), 1U);
}

TEST(Meter, GivesTheLongestStreakThatBeganAfterTheCut) {
  model::Slots slots(4, 2);
  const auto ref = *slots.claim();
  fail(slots.cells(ref, 0), 4);
  Meter meter(slots, ref);
  EXPECT_EQ(meter.read(slots, base::TimePoint{1s}).failure_streak, 0U) << "the former owner's";
  fail(slots.cells(ref, 0), 2);
  fail(slots.cells(ref, 1), 3);
  EXPECT_EQ(meter.read(slots, base::TimePoint{2s}).failure_streak, 3U);
  meter.restart_streaks(slots);
  EXPECT_EQ(meter.read(slots, base::TimePoint{3s}).failure_streak, 0U);
  slots.cells(ref, 1).failure_streak.set(0);
  fail(slots.cells(ref, 1), 1);
  EXPECT_EQ(meter.read(slots, base::TimePoint{4s}).failure_streak, 1U);
}

}  // namespace
}  // namespace steelyard::control
