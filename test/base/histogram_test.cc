#include "steelyard/base/histogram.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <vector>

#include "steelyard/base/rng.h"

namespace steelyard::base {
namespace {

using std::chrono::microseconds;

TEST(HistogramShape, BucketsJoinWithoutGapOrOverlap) {
  for (std::size_t i = 0; i < HistogramShape::kBuckets; ++i) {
    EXPECT_EQ(HistogramShape::index(HistogramShape::lower(i)), i);
    EXPECT_LT(HistogramShape::lower(i), HistogramShape::lower(i + 1));
    if (i + 1 == HistogramShape::kBuckets) break;
    EXPECT_EQ(HistogramShape::index(HistogramShape::lower(i + 1) - 1), i);
  }
}

TEST(HistogramShape, AKnownValueLiesInAKnownBucket) {
  struct Row {
    std::uint64_t us, lower, upper;
  };
  for (const auto& row :
       {Row{0, 0, 1}, Row{7, 7, 8}, Row{8, 8, 9}, Row{16, 16, 18}, Row{100, 96, 104},
        Row{1000, 960, 1024}, Row{1'000'000, 983'040, 1'048'576}}) {
    const auto at = HistogramShape::index(row.us);
    EXPECT_EQ(HistogramShape::lower(at), row.lower) << row.us;
    EXPECT_EQ(HistogramShape::lower(at + 1), row.upper) << row.us;
  }
}

TEST(HistogramShape, WhatIsOutOfRangeCountsInTheFirstOrTheLastBucket) {
  EXPECT_EQ(HistogramShape::index(Duration(-5)), 0U);
  EXPECT_EQ(HistogramShape::index(Duration(999)), 0U);
  EXPECT_EQ(HistogramShape::index(std::chrono::hours(1)), HistogramShape::kBuckets - 1);
  EXPECT_EQ(HistogramShape::index(UINT64_MAX), HistogramShape::kBuckets - 1);
}

TEST(HistogramShape, TheMiddleOfABucketIsWithinSixPointThreePercent) {
  for (std::size_t i = 8; i < HistogramShape::kBuckets; ++i) {
    const auto low = static_cast<double>(HistogramShape::lower(i));
    const auto high = static_cast<double>(HistogramShape::lower(i + 1));
    EXPECT_LE((high - low) / 2 / low, 0.063) << i;
  }
}

TEST(Histogram, IsUnknownWhenEmpty) {
  const Histogram h;
  EXPECT_EQ(h.count(), 0U);
  EXPECT_EQ(h.quantile(0.5), std::nullopt);
}

TEST(Histogram, QuantilesAreWithinTheErrorOfABucket) {
  Rng rng(61);
  for (const double spread : {1.0, 3.0, 5.0}) {  // decades
    Histogram h;
    std::vector<double> exact;
    for (int i = 0; i < 20'000; ++i) {
      const double us = 20 * std::pow(10, spread * rng.unit());
      exact.push_back(us);
      h.add(from_seconds(us * 1e-6));
    }
    std::sort(exact.begin(), exact.end());
    for (const double q : {0.01, 0.1, 0.5, 0.9, 0.99, 0.999}) {
      const double want = exact[static_cast<std::size_t>(q * 20'000)];
      EXPECT_NEAR(seconds(*h.quantile(q)) * 1e6 / want, 1, 0.126) << q;  // a whole bucket at most
    }
  }
}

TEST(Histogram, InterpolatesInsideABucketAndClampsTheQuantile) {
  Histogram h;
  h.add(microseconds(100), 4);  // bucket 96 … 104
  EXPECT_EQ(h.quantile(0), Duration(microseconds(96)));
  EXPECT_EQ(h.quantile(0.5), Duration(microseconds(100)));
  EXPECT_EQ(h.quantile(1), Duration(microseconds(104)));
  EXPECT_EQ(h.quantile(-1), h.quantile(0));
  EXPECT_EQ(h.quantile(2), h.quantile(1));
}

TEST(Histogram, TheTailIsFoundAmongMany) {
  Histogram h;
  h.add(microseconds(1000), 990);
  h.add(std::chrono::seconds(1), 10);
  EXPECT_LT(*h.quantile(0.98), Duration(microseconds(1025)));
  EXPECT_GT(*h.quantile(0.995), Duration(std::chrono::milliseconds(980)));
}

TEST(Histogram, MergesAndSubtractsBucketByBucketAlsoAcrossAWrap) {
  Histogram a;
  Histogram b;
  a.add(microseconds(5), 3);
  b.add(microseconds(5), 2);
  b.add(microseconds(500), 1);
  a.merge(b);
  EXPECT_EQ(a.count(), 6U);
  EXPECT_EQ(a.since(b).counts()[5], 3U);
  EXPECT_EQ(a.since(b).count(), 3U);

  Histogram before;
  before.counts()[7] = UINT32_MAX;
  Histogram after = before;
  after.add(microseconds(7), 3);  // the count wraps
  EXPECT_EQ(after.since(before).count(), 3U);
}

TEST(CellHistogram, ReadsAsWhatWasAdded) {
  CellHistogram cells;
  for (int i = 0; i < 10; ++i) cells.add(microseconds(50));
  EXPECT_EQ(cells.read().count(), 10U);
  EXPECT_EQ(cells.read().counts()[HistogramShape::index(50)], 10U);
}

}  // namespace
}  // namespace steelyard::base
