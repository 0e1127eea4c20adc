#include "steelyard/weigh/cpu_target.h"

#include <gtest/gtest.h>

#include "test/weigh/law.h"
#include "test/weigh/scene.h"

namespace steelyard::weigh {
namespace {

model::Observation used(double utilisation) {
  model::Observation seen;
  seen.utilisation = {utilisation, at(0), 1};
  return seen;
}

TEST(CpuTarget, HitsTheVectors) {
  Asked law(std::make_unique<CpuTarget>(CpuTargetOptions{}));
  const auto wishes = law.ask({10, 10, 10}, {used(0.9), used(0.6), used(0.3)}, at(0));
  EXPECT_NEAR(10 * wishes[0].value, 6.67, 0.005);
  EXPECT_DOUBLE_EQ(wishes[1].value, 1);
  EXPECT_DOUBLE_EQ(wishes[2].value, 2);
}

TEST(CpuTarget, DoesNotDivideByZero) {
  Asked law(std::make_unique<CpuTarget>(CpuTargetOptions{}));
  EXPECT_DOUBLE_EQ(law.ask({10}, {used(0)}, at(0))[0].value, 60);
}

TEST(CpuTarget, GivesTheFloorOnlyAfterThirtySecondsAboveNinetyPercent) {
  Asked law(std::make_unique<CpuTarget>(CpuTargetOptions{}));
  EXPECT_FALSE(law.ask({10}, {used(0.95)}, at(0))[0].floor);
  EXPECT_FALSE(law.ask({10}, {used(0.95)}, at(29.9))[0].floor);
  EXPECT_TRUE(law.ask({10}, {used(0.95)}, at(30))[0].floor);
  EXPECT_TRUE(law.ask({10}, {used(0.95)}, at(60))[0].floor);
  EXPECT_FALSE(law.ask({10}, {used(0.90)}, at(70))[0].floor);
  EXPECT_FALSE(law.ask({10}, {used(0.95)}, at(80))[0].floor);  // counts anew
}

TEST(CpuTarget, ASilenceEndsTheThirtySeconds) {
  Asked law(std::make_unique<CpuTarget>(CpuTargetOptions{}));
  law.ask({10}, {used(0.95)}, at(0));
  EXPECT_FALSE(law.ask({10}, {model::Observation{}}, at(20))[0].known);
  EXPECT_FALSE(law.ask({10}, {used(0.95)}, at(40))[0].floor);
}

}  // namespace
}  // namespace steelyard::weigh
