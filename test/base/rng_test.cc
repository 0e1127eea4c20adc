#include "steelyard/base/rng.h"

#include <algorithm>
#include <array>
#include <gtest/gtest.h>
#include <set>

namespace steelyard::base {
namespace {

TEST(Rng, GivesTheKnownNumbers) {
  // splitmix64 from 0 begins e220a8397b1dcdaf, 6e789e6aa1b965f4, 06c45d188009454f,
  // f88bb8a8724c81ec; xoshiro256** from these words: the second word × 5, turned left by 7, × 9.
  Rng rng(0);
  const std::uint64_t product = 0x6e789e6aa1b965f4ULL * 5;
  EXPECT_EQ(rng(), ((product << 7) | (product >> 57)) * 9);
  EXPECT_EQ(Rng(0)(), 0x99ec5f36cb75f2b4ULL);
}

TEST(Rng, SameSeedSameNumbersOtherSeedOthers) {
  Rng a(5);
  Rng b(5);
  Rng c(6);
  std::set<std::uint64_t> seen;
  for (int i = 0; i < 1000; ++i) {
    const auto value = a();
    EXPECT_EQ(b(), value);
    EXPECT_NE(c(), value);
    seen.insert(value);
  }
  EXPECT_EQ(seen.size(), 1000U);
}

TEST(Rng, BelowStaysBelowAndReachesEveryValueEqually) {
  Rng rng(7);
  std::array<int, 10> hits{};
  for (int i = 0; i < 100'000; ++i) ++hits.at(rng.below(10));
  double chi = 0;
  for (const int hit : hits) chi += (hit - 10'000.0) * (hit - 10'000.0) / 10'000;
  EXPECT_LT(chi, 27.877);  // 9 degrees of freedom, 99.9 %
  for (int i = 0; i < 100; ++i) EXPECT_EQ(rng.below(1), 0U);
}

TEST(Rng, UnitIsInZeroToOneAndEven) {
  Rng rng(8);
  double sum = 0;
  double least = 1;
  double most = 0;
  for (int i = 0; i < 100'000; ++i) {
    const double u = rng.unit();
    ASSERT_GE(u, 0);
    ASSERT_LT(u, 1);
    sum += u;
    least = std::min(least, u);
    most = std::max(most, u);
  }
  EXPECT_NEAR(sum / 100'000, 0.5, 0.0046);  // 5 standard deviations
  EXPECT_LT(least, 0.001);
  EXPECT_GT(most, 0.999);
}

}  // namespace
}  // namespace steelyard::base
