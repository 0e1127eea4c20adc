#include "steelyard/control/combine.h"

#include <array>
#include <gtest/gtest.h>
#include <string_view>

#include "steelyard/control/same.h"
#include "steelyard/control/words.h"
#include "steelyard/weigh/options.h"

namespace steelyard::control {
namespace {

using model::Eligibility;

TEST(Combine, PutsTheWeightTogetherInOneOrder) {
  struct Row {
    std::string_view name;
    Factors f;
    double want;
  };
  const std::array rows{
      Row{"as configured", {4, 1, 1, {}}, 4},
      Row{"base times control", {4, 0.5, 1, {}}, 2},
      Row{"times ramp", {4, 0.5, 0.1, {}}, 0.2},
      Row{"an override replaces base and control", {4, 0.5, 1, 3}, 3},
      Row{"but not the ramp", {4, 0.5, 0.1, 3}, 0.3},
      Row{"configured 0 is drained", {0, 1, 1, {}}, 0},
      Row{"overridden to 0 too", {4, 1, 1, 0}, 0},
      Row{"an override brings a drained node back", {0, 1, 1, 2}, 2},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    EXPECT_NEAR(effective_weight(row.f), row.want, 1e-12);
    EXPECT_EQ(drained(row.f), row.want == 0);
    EXPECT_EQ(eligibility(row.f, Eligibility::kOut),
              row.want == 0 ? Eligibility::kDraining : Eligibility::kOut);
  }
}

TEST(Combine, PanicsBelowHalf) {
  EXPECT_FALSE(panics(5, 10));
  EXPECT_TRUE(panics(4, 10));
  EXPECT_TRUE(panics(0, 1));
  EXPECT_FALSE(panics(1, 2));
  EXPECT_FALSE(panics(0, 0)) << "all are drained: a person wants it so";
}

TEST(Combine, LiftsTheUsableToThirtyPercentButNoHigher) {
  EXPECT_EQ(panic_lift(4, 6), 1) << "they have 40 % already";
  const double lift = panic_lift(1, 9);
  EXPECT_NEAR(lift / (lift + 9), 0.3, 1e-12);
  EXPECT_EQ(panic_lift(0, 9), 1);
  EXPECT_EQ(panic_lift(3, 0), 1);
}

TEST(Words, AreRoundedForPeople) {
  EXPECT_EQ(number(2.6666), "2.67");
  EXPECT_EQ(number(4), "4");
  EXPECT_EQ(number(999.9), "1000");
  EXPECT_EQ(number(1234567), "1234567");
  EXPECT_EQ(percent(0.2222), "22 %");
  EXPECT_EQ(percent(0.012), "1.2 %");
  EXPECT_EQ(percent(0), "0 %");
  EXPECT_EQ(percent(1), "100 %");
  EXPECT_EQ(moved("4", "4"), "4");
  EXPECT_EQ(moved("4", "2"), "4 → 2");
}

TEST(Same, SeesEveryOptionAndNothingElse) {
  const weigh::Options a;
  weigh::Options b;
  EXPECT_TRUE(same(a, b));
  b.smooth.window = 6;
  EXPECT_FALSE(same(a, b)) << "in a struct within";
  b = a;
  b.threshold = 0.1;
  EXPECT_FALSE(same(a, b)) << "an optional";
  b = a;
  b.controller.name = "static";
  EXPECT_FALSE(same(a, b));
}

}  // namespace
}  // namespace steelyard::control
