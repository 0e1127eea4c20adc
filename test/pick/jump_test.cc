#include "steelyard/pick/jump.h"

#include <gtest/gtest.h>

#include "steelyard/base/rng.h"

namespace steelyard::pick {
namespace {

TEST(Jump, GivesThePublishedBuckets) {
  struct Row {
    std::uint64_t number;
    std::uint32_t count, bucket;
  };
  for (const Row& row :
       {Row{1, 1, 0}, Row{42, 57, 43}, Row{0xdead10cc, 1, 0}, Row{0xdead10cc, 666, 361},
        Row{256, 1024, 520}, Row{0, 100, 0}, Row{10863919174838991ULL, 11, 6}}) {
    EXPECT_EQ(jump(row.number, row.count), row.bucket) << row.number;
  }
}

TEST(Jump, OneBucketMoreMovesItsShareAndOnlyThere) {
  base::Rng rng(61);
  int moved = 0;
  constexpr int kNumbers = 200'000;
  for (int i = 0; i < kNumbers; ++i) {
    const std::uint64_t number = rng();
    const auto before = jump(number, 10);
    const auto after = jump(number, 11);
    if (before == after) continue;
    ASSERT_EQ(after, 10U);
    ++moved;
  }
  EXPECT_NEAR(moved, kNumbers / 11.0, 650);  // 5 standard deviations
}

}  // namespace
}  // namespace steelyard::pick
