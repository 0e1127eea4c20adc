#include "steelyard/weigh/capacity.h"

#include <gtest/gtest.h>

#include "test/weigh/law.h"
#include "test/weigh/scene.h"

namespace steelyard::weigh {
namespace {

using std::chrono::seconds;

model::Observation node(double rate, double utilisation, double when) {
  model::Observation seen;
  seen.rate = {rate, at(when), 1};
  seen.utilisation = {utilisation, at(when), 1};
  return seen;
}
Asked capacity(CapacityOptions options = {.blackout = base::Duration{0}}) {
  return Asked(std::make_unique<Capacity>(options));
}

TEST(Capacity, HitsTheVectors) {
  EXPECT_NEAR(Capacity::weight(100, 0.5, 0.1, 1), 166.67, 0.005);
  EXPECT_DOUBLE_EQ(Capacity::weight(100, 0.5, 0, 1), 200);
  EXPECT_DOUBLE_EQ(Capacity::weight(100, 0.5, 0.1, 0), 200);

  auto law = capacity();
  model::Observation failing = node(100, 0.5, 0);
  failing.error_rate = {0.1, at(0), 1};
  const auto wishes = law.ask({1, 1}, {failing, node(100, 0.5, 0)}, at(0));
  EXPECT_NEAR(wishes[0].value, 166.67, 0.005);
  EXPECT_DOUBLE_EQ(wishes[1].value, 200);
  EXPECT_EQ(wishes[0].why, "100/s at utilisation 50 % and 10 % errors → capacity 167/s");
}

TEST(Capacity, NeedsARateAndAUtilisationAboveZero) {
  auto law = capacity();
  model::Observation no_rate = node(0, 0.5, 0);
  no_rate.rate.reset();
  model::Observation no_use = node(100, 0, 0);
  no_use.utilisation.reset();
  const auto wishes =
      law.ask({1, 1, 1, 1}, {node(0, 0.5, 0), node(100, 0, 0), no_rate, no_use}, at(0));
  for (const Wish& wish : wishes) EXPECT_FALSE(wish.known || wish.hold) << wish.why;
}

TEST(Capacity, NextToNoTrafficIsNoEvidence) {
  auto law = capacity();
  const auto wishes = law.ask({1, 1}, {node(8.81e-109, 7.1e-111, 0), node(0.25, 0.01, 0)}, at(0));
  EXPECT_FALSE(wishes[0].known || wishes[0].hold) << "unknown: neither noise nor locked out";
  EXPECT_TRUE(wishes[1].known);
}

TEST(Capacity, HoldsANodeForTenSecondsAlsoAfterASilence) {
  auto law = capacity({});
  EXPECT_TRUE(law.ask({1}, {node(100, 0.5, 0)}, at(0))[0].hold);
  EXPECT_TRUE(law.ask({1}, {node(100, 0.5, 9)}, at(9.9))[0].hold);
  EXPECT_TRUE(law.ask({1}, {node(100, 0.5, 10)}, at(10))[0].known);
  EXPECT_FALSE(law.ask({1}, {model::Observation{}}, at(20))[0].known);
  EXPECT_TRUE(law.ask({1}, {node(100, 0.5, 30)}, at(30))[0].hold);
  EXPECT_TRUE(law.ask({1}, {node(100, 0.5, 40)}, at(40))[0].known);
  law.law->forget({0, 1});
  EXPECT_TRUE(law.ask({1}, {node(100, 0.5, 41)}, at(41))[0].hold);
}

TEST(Capacity, AnIdleMomentIsNoSilence) {
  auto law = capacity({});
  law.ask({1}, {node(100, 0.5, 0)}, at(0));
  EXPECT_FALSE(law.ask({1}, {node(0, 0.1, 20)}, at(20))[0].hold);
  EXPECT_TRUE(law.ask({1}, {node(100, 0.5, 21)}, at(21))[0].known);
}

TEST(Capacity, AReportOlderThanThreeMinutesIsUnknown) {
  auto law = capacity();
  EXPECT_TRUE(law.ask({1}, {node(100, 0.5, 0)}, at(180))[0].known);
  EXPECT_FALSE(law.ask({1}, {node(100, 0.5, 0)}, at(181))[0].known);
}

}  // namespace
}  // namespace steelyard::weigh
