#include "steelyard/health/slow_start.h"

#include <array>
#include <gtest/gtest.h>
#include <string_view>

namespace steelyard::health {
namespace {

using namespace std::chrono_literals;

TEST(SlowStart, FollowsEnvoysFormula) {
  struct Row {
    std::string_view name;
    double t, aggression, want;
  };
  constexpr std::array rows{
      Row{"just begun", 0, 1, 0.10},           Row{"the floor holds until a tenth", 6, 1, 0.10},
      Row{"a quarter", 15, 1, 0.25},           Row{"half", 30, 1, 0.50},
      Row{"the end is full", 60, 1, 1.0},      Row{"past the end", 90, 1, 1.0},
      Row{"aggressive, a tenth", 6, 2, 0.316}, Row{"aggressive, a quarter", 15, 2, 0.50},
      Row{"aggressive, half", 30, 2, 0.707},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    EXPECT_NEAR(slow_start_factor(base::from_seconds(row.t), 60s, row.aggression), row.want,
                0.0005);
  }
}

TEST(SlowStart, NoWindowMeansNoRamp) { EXPECT_EQ(slow_start_factor(0s, 0s), 1); }

}  // namespace
}  // namespace steelyard::health
