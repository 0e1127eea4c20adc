#include "steelyard/pick/ring.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <limits>
#include <numeric>

#include "steelyard/base/rng.h"

namespace steelyard::pick {
namespace {

constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();

// What `successor` means, by a plain search.
std::size_t searched(const Ring& ring, std::uint64_t number) {
  const auto& points = ring.points();
  const auto at = std::lower_bound(points.begin(), points.end(), number,
                                   [](const auto& p, std::uint64_t n) { return p.at < n; });
  return at == points.end() ? 0 : static_cast<std::size_t>(at - points.begin());
}

TEST(Ring, FindsWhatASearchFinds) {
  base::Rng rng(51);
  for (const std::size_t size : {1U, 2U, 3U, 7U, 100U, 5000U}) {
    for (const unsigned shift : {0U, 32U, 60U}) {  // spread, in the high half, few places
      std::vector<Ring::Point> points;
      for (std::uint32_t i = 0; i < size; ++i) points.push_back({rng() >> shift << shift, i});
      const Ring ring(points);
      EXPECT_TRUE(std::is_sorted(ring.points().begin(), ring.points().end(),
                                 [](const auto& a, const auto& b) { return a.at < b.at; }));
      for (int i = 0; i < 2000; ++i) {
        const std::uint64_t number = rng();
        ASSERT_EQ(ring.successor(number), searched(ring, number));
      }
      for (const auto& point : ring.points()) {
        for (const std::uint64_t number : {point.at - 1, point.at, point.at + 1}) {
          ASSERT_EQ(ring.successor(number), searched(ring, number));
        }
      }
      EXPECT_EQ(ring.successor(0), 0U);
      EXPECT_EQ(ring.successor(kMost), searched(ring, kMost));
    }
  }
}

TEST(Ring, KeepsTheFirstOfEqualPoints) {
  const Ring ring({{5, 1}, {kMost, 2}, {5, 3}, {kMost, 4}, {0, 5}});
  ASSERT_EQ(ring.size(), 3U);
  EXPECT_EQ(ring[0], (Ring::Point{0, 5}));
  EXPECT_EQ(ring[1], (Ring::Point{5, 1}));
  EXPECT_EQ(ring[2], (Ring::Point{kMost, 2}));
}

TEST(Ring, SharesAreWhatUniformNumbersMeet) {
  base::Rng rng(52);
  std::vector<Ring::Point> points;
  for (std::uint32_t i = 0; i < 500; ++i) points.push_back({rng(), i % 5});
  const Ring ring(points);
  const auto shares = ring.shares(5);
  EXPECT_NEAR(std::accumulate(shares.begin(), shares.end(), 0.0), 1, 1e-12);
  std::vector<int> hits(5, 0);
  for (int i = 0; i < 100'000; ++i) ++hits[ring[ring.successor(rng())].owner];
  for (std::size_t i = 0; i < 5; ++i) EXPECT_NEAR(hits[i] / 1e5, shares[i], 0.008);
  EXPECT_EQ(Ring({{7, 0}}).shares(1), std::vector<double>{1});
}

}  // namespace
}  // namespace steelyard::pick
