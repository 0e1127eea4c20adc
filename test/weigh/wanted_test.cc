#include "steelyard/weigh/wanted.h"

#include <gtest/gtest.h>
#include <limits>
#include <vector>

namespace steelyard::weigh {
namespace {

constexpr Law kFactorLaw{.scale = Scale::kFactor, .min_known = 1};
constexpr Law kAbsoluteLaw{.scale = Scale::kAbsolute, .min_known = 2};

Wish known(double value) { return {.known = true, .value = value}; }
Wish unknown() { return {}; }
Wish floored() { return {.known = true, .floor = true}; }
Wish held() { return {.hold = true}; }

std::vector<Want> settled(const Law& law, const std::vector<double>& bases,
                          const std::vector<Wish>& wishes) {
  const model::Observation nothing;
  std::vector<View> views;
  for (std::size_t i = 0; i < bases.size(); ++i) {
    views.push_back({{static_cast<std::uint32_t>(i), 1}, bases[i], &nothing, false});
  }
  std::vector<Want> out(bases.size());
  settle(law, views, wishes, std::vector<double>(bases.size(), 0.1), out);
  return out;
}

TEST(Settle, AFactorStandsAndTheUnknownGetTheMean) {
  const auto wants = settled(kFactorLaw, {4, 2, 7}, {known(0.4), known(1), unknown()});
  EXPECT_DOUBLE_EQ(wants[0].control, 0.4);
  EXPECT_DOUBLE_EQ(wants[1].control, 1);
  EXPECT_EQ(wants[2].standing, Standing::kMean);
  EXPECT_DOUBLE_EQ(wants[2].control, (4 * 0.4 + 2 * 1) / 6);
}

TEST(Settle, AbsoluteWeightsKeepTheMeasuredNodesBaseShareTogether) {
  const auto wants = settled(kAbsoluteLaw, {4, 2, 6}, {known(100), known(300), unknown()});
  EXPECT_DOUBLE_EQ(wants[0].control, 100.0 / 400 * 6 / 4);
  EXPECT_DOUBLE_EQ(wants[1].control, 300.0 / 400 * 6 / 2);
  EXPECT_DOUBLE_EQ(wants[2].control, 1);
  EXPECT_DOUBLE_EQ(4 * wants[0].control + 2 * wants[1].control, 6);
}

TEST(Settle, FewerThanTwoKnownMeansTheBaseWeights) {
  const auto wants = settled(kAbsoluteLaw, {4, 2, 6}, {known(100), unknown(), unknown()});
  for (const Want& want : wants) {
    EXPECT_EQ(want.standing, Standing::kBase);
    EXPECT_DOUBLE_EQ(want.control, 1);
  }
}

TEST(Settle, WhileSomeAreOnHoldFewKnownMeansWaiting) {
  const auto wants = settled(kAbsoluteLaw, {4, 2, 6}, {known(100), held(), unknown()});
  for (const Want& want : wants) EXPECT_EQ(want.standing, Standing::kHold);
}

TEST(Settle, OneOnHoldDoesNotStopTheOthers) {
  const auto wants = settled(kAbsoluteLaw, {1, 1, 1}, {known(100), known(300), held()});
  EXPECT_DOUBLE_EQ(wants[0].control, 0.5);
  EXPECT_DOUBLE_EQ(wants[1].control, 1.5);
  EXPECT_EQ(wants[2].standing, Standing::kHold);
}

TEST(Settle, NothingKnownOfAnybodyFreezesAll) {
  for (const Wish& wish : {unknown(), floored()}) {
    for (const Want& want : settled(kFactorLaw, {1, 1}, {wish, wish}))
      EXPECT_EQ(want.standing, Standing::kFrozen);
  }
}

TEST(Settle, AFloorIsGivenBesideKnownNodes) {
  const auto wants = settled(kFactorLaw, {1, 1}, {floored(), known(1)});
  EXPECT_EQ(wants[0].standing, Standing::kFloor);
  EXPECT_DOUBLE_EQ(wants[0].control, 0.1);
}

TEST(Settle, WhatIsNoNumberIsUnknown) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinite = std::numeric_limits<double>::infinity();
  for (const double value : {nan, infinite, -infinite, 0.0, -1.0}) {
    const auto wants = settled(kFactorLaw, {1, 1}, {known(value), known(0.5)});
    EXPECT_EQ(wants[0].standing, Standing::kMean) << value;
    EXPECT_DOUBLE_EQ(wants[0].control, 0.5) << value;
  }
}

}  // namespace
}  // namespace steelyard::weigh
