#include "steelyard/sense/ewma.h"

#include <cmath>
#include <gtest/gtest.h>

#include "steelyard/base/rng.h"

namespace steelyard::sense {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(Ewma, IsEmptyUntilTheFirstSampleWhichItTakesWhole) {
  Ewma mean(0.3);
  EXPECT_FALSE(mean.value());
  mean.add(90);
  EXPECT_DOUBLE_EQ(*mean.value(), 90);
  mean.add(60);
  EXPECT_DOUBLE_EQ(*mean.value(), 0.3 * 60 + 0.7 * 90);
  mean.reset();
  EXPECT_FALSE(mean.value());
}

TEST(TimedMean, GivesTheSameWhateverTheTicks) {
  TimedMean coarse(seconds(10));
  TimedMean fine(seconds(10));
  for (int second = 0; second < 30; ++second) {
    const double rate = second < 15 ? 100 : 40;
    coarse.add(rate, seconds(1));
    for (int i = 0; i < 10; ++i) fine.add(rate, milliseconds(100));
  }
  EXPECT_NEAR(*coarse.value(), *fine.value(), 1e-9);
}

TEST(TimedMean, IsThePlainMeanAtTheStartAndFadesLater) {
  TimedMean mean(seconds(1000));
  EXPECT_FALSE(mean.value());
  mean.add(0, milliseconds(100));
  mean.add(100, milliseconds(100));
  EXPECT_NEAR(*mean.value(), 50, 0.01);
  TimedMean late(seconds(10));
  late.add(100, seconds(1000));
  late.add(0, seconds(10));
  EXPECT_NEAR(*late.value(), 100 * std::exp(-1.0), 1e-6);
}

TEST(TimedMean, IgnoresTimeThatStandsStillOrGoesBack) {
  TimedMean mean(seconds(10));
  mean.add(5, seconds(0));
  mean.add(5, seconds(-1));
  EXPECT_FALSE(mean.value());
}

TEST(TimedMean, FadesAsAnEwmaWithTheMatchingTau) {
  TimedMean timed(TimedMean::tau_of(0.3, seconds(10)));
  Ewma plain(0.3);
  timed.add(80, seconds(1000));
  plain.add(80);
  base::Rng rng(7);
  for (int i = 0; i < 50; ++i) {
    const double x = rng.unit() * 100;
    timed.add(x, seconds(10));
    plain.add(x);
  }
  EXPECT_NEAR(*timed.value(), *plain.value(), 1e-9);
}

TEST(TimedMean, OfAlphaOneFadesWithinOneInterval) {
  EXPECT_EQ(TimedMean::tau_of(1, seconds(3)), base::Duration(seconds(3)));
}

}  // namespace
}  // namespace steelyard::sense
