#include "steelyard/sense/rolling_mean.h"

#include <gtest/gtest.h>

#include "steelyard/base/rng.h"

namespace steelyard::sense {
namespace {

TEST(RollingMean, IsTheMeanOfTheLastFive) {
  RollingMean mean;
  EXPECT_FALSE(mean.value());
  for (const double score : {100.0, 90.0, 80.0}) mean.add(score);
  EXPECT_DOUBLE_EQ(*mean.value(), 90);
  for (const double score : {70.0, 60.0, 50.0}) mean.add(score);
  EXPECT_DOUBLE_EQ(*mean.value(), 70);
}

// The articles' integer average lowers itself by one on every odd step: 1,2,1,2,… ends at 1 and
// [0,200) at 0.
TEST(RollingMean, DoesNotRatchetDown) {
  RollingMean mean(2);
  for (int i = 0; i < 100'000; ++i) mean.add(1 + i % 2);
  EXPECT_DOUBLE_EQ(*mean.value(), 1.5);

  RollingMean noisy(60);
  base::Rng rng(11);
  double sum = 0;
  for (int i = 0; i < 100'000; ++i) {
    noisy.add(static_cast<double>(rng.below(200)));
    sum += *noisy.value();
  }
  EXPECT_NEAR(sum / 100'000, 99.5, 1);
}

TEST(RollingMean, StartsAnewAfterReset) {
  RollingMean mean(3);
  for (int i = 0; i < 10; ++i) mean.add(10);
  mean.reset();
  EXPECT_EQ(mean.size(), 0U);
  mean.add(40);
  EXPECT_DOUBLE_EQ(*mean.value(), 40);
}

}  // namespace
}  // namespace steelyard::sense
