#include "steelyard/weigh/gain.h"

#include <array>
#include <cmath>
#include <gtest/gtest.h>
#include <numbers>
#include <vector>

namespace steelyard::weigh {
namespace {

// Largest |e| late in a run of e(t+1) = e(t) − k·s(t−d), s an EWMA of e.
double rest_of(double k, int d, double alpha) {
  std::vector<double> e(1, 1.0);
  std::vector<double> s(1, 1.0);
  const int steps = 6000;
  for (int t = 0; t < steps; ++t) {
    const double seen = t >= d ? s[static_cast<std::size_t>(t - d)] : 1.0;
    e.push_back(e.back() - k * seen);
    s.push_back(alpha * e.back() + (1 - alpha) * s.back());
    if (!(std::fabs(e.back()) < 1e12)) return 1e12;
  }
  double most = 0;
  for (std::size_t t = e.size() - 500; t < e.size(); ++t) most = std::max(most, std::fabs(e[t]));
  return most;
}

TEST(Gain, LimitIsTheClosedFormWithoutSmoothing) {
  for (const double d : {0.0, 0.5, 1.0, 2.0, 3.7, 10.0}) {
    EXPECT_NEAR(k_max(d, 1), 2 * std::sin(std::numbers::pi / (2 * (2 * d + 1))), 1e-9) << d;
  }
}

// The rows with smoothing were found by trial, to about 1 %.
TEST(Gain, LimitIsTheTable) {
  struct Row {
    double alpha, d, want;
  };
  constexpr std::array rows{
      Row{1, 0, 2.000},   Row{1, 1, 1.000},   Row{1, 2, 0.618},    Row{1, 3, 0.445},
      Row{1, 5, 0.285},   Row{1, 10, 0.149},  Row{0.3, 1, 1.00},   Row{0.3, 2, 0.536},
      Row{0.3, 3, 0.374}, Row{0.3, 5, 0.238}, Row{0.3, 10, 0.130}, Row{0.1, 1, 0.99},
      Row{0.1, 2, 0.508}, Row{0.1, 3, 0.345}, Row{0.1, 5, 0.213},  Row{0.1, 10, 0.113},
  };
  for (const Row& row : rows)
    EXPECT_NEAR(k_max(row.d, row.alpha), row.want, row.alpha == 1 ? 6e-4 : 0.011 * row.want)
        << row.alpha << " " << row.d;
  EXPECT_GE(k_max(0, 0.3), 4);
  EXPECT_GE(k_max(0, 0.1), 4);
}

TEST(Gain, ALoopJustBelowTheLimitIsStableAndJustAboveIsNot) {
  for (const double alpha : {1.0, 0.3, 0.1}) {
    for (const int d : {0, 1, 2, 3, 5, 10}) {
      const double limit = k_max(d, alpha);
      EXPECT_LT(rest_of(0.98 * limit, d, alpha), 1) << alpha << " " << d;
      EXPECT_GT(rest_of(1.02 * limit, d, alpha), 1) << alpha << " " << d;
    }
  }
}

TEST(Gain, KeepsAMarginOfThreeAndNeverMoreThanAllTheWay) {
  EXPECT_NEAR(gain(2, 1), 0.618 / 3, 1e-4);
  EXPECT_NEAR(gain(0, 1), 2.0 / 3, 1e-9);
  EXPECT_DOUBLE_EQ(gain(0, 0.3), 1);
  EXPECT_DOUBLE_EQ(gain(-1, 0.3), 1);
}

TEST(Gain, FallsWithTheAgeOfTheSignal) {
  for (const double alpha : {1.0, 0.3, 0.05}) {
    double last = 2;
    for (double d = 0; d < 100; d += 0.25) {
      const double k = gain(d, alpha);
      EXPECT_LE(k, last) << alpha << " " << d;
      EXPECT_GT(k, 0);
      last = k;
    }
  }
}

}  // namespace
}  // namespace steelyard::weigh
