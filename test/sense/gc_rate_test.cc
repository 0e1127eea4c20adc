#include "steelyard/sense/gc_rate.h"

#include <gtest/gtest.h>

namespace steelyard::sense {
namespace {

using std::chrono::seconds;

base::TimePoint at(int second) { return base::TimePoint(seconds(1000 + second)); }

TEST(GcRate, IsUnknownUntilTheSecondCount) {
  GcRate gc;
  EXPECT_FALSE(gc.per_minute());
  gc.add(90'000, at(0));
  EXPECT_FALSE(gc.per_minute());
  gc.add(90'000, at(10));
  EXPECT_DOUBLE_EQ(*gc.per_minute(), 0);
}

TEST(GcRate, TakesDifferencesSoAnOldProcessIsNotPunishedForItsAge) {
  GcRate gc;
  for (int i = 0; i <= 100; ++i) gc.add(5'000 + static_cast<std::uint64_t>(i), at(10 * i));
  EXPECT_DOUBLE_EQ(*gc.per_minute(), 6);
}

TEST(GcRate, TakesASmallerCountAsARestart) {
  GcRate gc;
  gc.add(500, at(0));
  gc.add(510, at(30));
  gc.add(3, at(60));  // restarted: three collections since
  EXPECT_DOUBLE_EQ(*gc.per_minute(), 13);
}

TEST(GcRate, DoesNotTakeOneCollectionInASecondForSixtyAMinute) {
  GcRate gc;
  gc.add(0, at(0));
  gc.add(1, at(1));
  EXPECT_DOUBLE_EQ(*gc.per_minute(), 6);
  for (int i = 2; i <= 300; ++i)
    gc.add(1 + static_cast<std::uint64_t>(i / 15), at(i));  // 4 a minute
  EXPECT_NEAR(*gc.per_minute(), 4, 0.7);
}

TEST(GcRate, ForgetsWhatIsOlderThanAMinute) {
  GcRate gc;
  std::uint64_t count = 0;
  for (int i = 0; i <= 60; i += 5) gc.add(count += 10, at(i));
  EXPECT_DOUBLE_EQ(*gc.per_minute(), 120);
  for (int i = 65; i <= 130; i += 5) gc.add(count, at(i));
  EXPECT_DOUBLE_EQ(*gc.per_minute(), 0);
}

TEST(GcRate, ScalesAnIntervalLongerThanAMinute) {
  GcRate gc;
  gc.add(0, at(0));
  gc.add(30, at(180));
  EXPECT_DOUBLE_EQ(*gc.per_minute(), 10);
}

TEST(GcRate, IgnoresACountFromTheSameMoment) {
  GcRate gc;
  gc.add(0, at(0));
  gc.add(5, at(0));
  EXPECT_FALSE(gc.per_minute());
}

}  // namespace
}  // namespace steelyard::sense
