#include "steelyard/weigh/options.h"

#include <array>
#include <gtest/gtest.h>
#include <memory>

#include "steelyard/schema/describe.h"
#include "steelyard/weigh/factors.h"
#include "steelyard/weigh/words.h"

namespace steelyard::weigh {
namespace {

TEST(Options, AreDescribedWholeWithEveryController) {
  const schema::Type type = schema::describe<Options>();
  ASSERT_EQ(type.fields.size(), 8U);
  EXPECT_EQ(type.fields[0].name, "controller");
  EXPECT_EQ(type.fields[0].type.alternatives.size(), choices().size());
}

TEST(Options, WarnOfAFloorThatLeavesNothingToMove) {
  Options options;
  EXPECT_TRUE(warnings(options, std::array{1.0, 1.0}).empty());
  options.floor = 1;
  EXPECT_TRUE(warnings(options, std::array{4.0, 3.0}).empty());
  EXPECT_TRUE(warnings(options, std::array<double, 0>{}).empty());
  const auto found = warnings(options, std::array{4.0, 1.0, 0.0});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0],
            "weigh.floor is 1, not below the weight 1 of a node: its weight can never be lowered; "
            "leave floor out for a "
            "tenth of each weight");
  options.controller.name = "static";
  EXPECT_TRUE(warnings(options, std::array{1.0}).empty());
}

TEST(Options, WarnOfRoundingThatLeavesNothingOfTheFactors) {
  Options options;
  options.controller.name = "factors";
  EXPECT_EQ(warnings(options, std::array{1.0, 1.0}).size(), 1U);
  EXPECT_TRUE(warnings(options, std::array{10.0}).empty());
  options.controller.options = std::make_shared<FactorsOptions>(FactorsOptions{.round = false});
  EXPECT_TRUE(warnings(options, std::array{1.0}).empty());
}

TEST(Limits, TheFloorIsATenthUnlessSetAndNeverLiftsANode) {
  EXPECT_DOUBLE_EQ(Limits{}.floor_of(4), 0.4);
  EXPECT_DOUBLE_EQ(Limits{.floor = 1}.floor_of(4), 1);
  EXPECT_DOUBLE_EQ(Limits{.floor = 1}.floor_of(0.3), 0.3);
}

TEST(Words, AreShort) {
  EXPECT_EQ(decimal(0.4), "0.4");
  EXPECT_EQ(decimal(1.0 / 3), "0.333");
  EXPECT_EQ(decimal(123456.7), "123457");
  EXPECT_EQ(percent(0.2), "20 %");
  EXPECT_EQ(percent(0.0123), "1.2 %");
  EXPECT_EQ(lasting(std::chrono::milliseconds(340)), "340 ms");
  EXPECT_EQ(lasting(std::chrono::milliseconds(2500)), "2.5 s");
  EXPECT_EQ(lasting(std::chrono::minutes(3)), "3 min");
}

}  // namespace
}  // namespace steelyard::weigh
