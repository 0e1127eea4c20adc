#include "steelyard/pick/draw.h"

#include <gtest/gtest.h>

#include "test/pick/rig.h"

namespace steelyard::pick {
namespace {

double chi_square(const std::vector<int>& hits, const std::vector<double>& shares, int picks) {
  double sum = 0;
  for (std::size_t i = 0; i < hits.size(); ++i) {
    const double expected = shares[i] * picks;
    sum += (hits[i] - expected) * (hits[i] - expected) / expected;
  }
  return sum;
}

TEST(Draw, BuildsTheAliasTableOfFiveOneOne) {
  const Rig rig{5, 1, 1};
  const Draw draw(Candidates::of(rig.upstream));
  EXPECT_DOUBLE_EQ(draw.probability(0), 1);
  EXPECT_NEAR(draw.probability(1), 0.428571, 5e-7);
  EXPECT_NEAR(draw.probability(2), 0.428571, 5e-7);
  EXPECT_EQ(draw.alias(1), 0U);
  EXPECT_EQ(draw.alias(2), 0U);
}

TEST(Draw, TheAliasTableAddsUpToTheWeights) {
  base::Rng rng(3);
  for (int round = 0; round < 100; ++round) {
    std::vector<double> weights(1 + rng.below(50));
    for (double& weight : weights) weight = std::pow(10, rng.unit() * 6);
    const Rig rig(weights);
    const Draw draw(Candidates::of(rig.upstream));
    std::vector<double> mass(weights.size(), 0);
    for (std::uint32_t i = 0; i < weights.size(); ++i) {
      mass[i] += draw.probability(i);
      mass[draw.alias(i)] += 1 - draw.probability(i);
    }
    for (std::size_t i = 0; i < weights.size(); ++i) {
      EXPECT_NEAR(mass[i] / static_cast<double>(weights.size()),
                  rig.share(*find("weighted_random"), i), 1e-9);
    }
  }
}

// 99.9 % points of chi-square: 2 degrees of freedom 13.816, 9 degrees 27.877.
TEST(Draw, AMillionDrawsPassTheChiSquareTest) {
  struct Row {
    std::vector<double> weights;
    double limit;
  };
  for (const auto& row : {Row{{5, 1, 1}, 13.816}, Row{{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, 27.877}}) {
    const Rig rig(row.weights);
    const Draw draw(Candidates::of(rig.upstream));
    base::Rng rng(11);
    std::vector<int> hits(row.weights.size(), 0);
    std::vector<double> shares;
    for (std::size_t i = 0; i < hits.size(); ++i)
      shares.push_back(rig.share(*find("weighted_random"), i));
    for (int i = 0; i < 1'000'000; ++i) ++hits[*draw.draw(rig.input(), rng)];
    EXPECT_LT(chi_square(hits, shares, 1'000'000), row.limit);
  }
}

TEST(Draw, AllButOneKeepTheirProportions) {
  const Rig rig{1'000'000, 3, 1};  // the one left out has nearly all the weight
  const Draw draw(Candidates::of(rig.upstream));
  base::Rng rng(12);
  std::vector<int> hits(3, 0);
  for (int i = 0; i < 100'000; ++i) ++hits[*draw.draw(rig.input(), rng, 0)];
  EXPECT_EQ(hits[0], 0);
  EXPECT_LT(chi_square({hits[1], hits[2]}, {0.75, 0.25}, 100'000), 10.828);
}

TEST(Draw, WhatIsLeftWhenMostCannotBeTakenIsDrawnByWeight) {
  const Rig rig{1000, 1000, 1000, 2, 1};
  for (std::size_t i = 0; i < 3; ++i) {
    rig.line(i).max_in_flight = 1;
    rig.line(i).in_flight = 1;
  }
  const Draw draw(Candidates::of(rig.upstream));
  base::Rng rng(13);
  std::vector<int> hits(5, 0);
  for (int i = 0; i < 90'000; ++i) ++hits[*draw.draw(rig.input(), rng)];
  EXPECT_LT(chi_square({hits[3], hits[4]}, {2.0 / 3, 1.0 / 3}, 90'000), 10.828);
  for (int i = 0; i < 100; ++i)
    EXPECT_EQ(draw.draw(rig.input(), rng, 3), std::optional<std::uint32_t>(4));
}

}  // namespace
}  // namespace steelyard::pick
