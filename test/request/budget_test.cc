#include "steelyard/request/budget.h"

#include <gtest/gtest.h>

#include "test/request/rig.h"

namespace steelyard::request {
namespace {

using testing::at;
using namespace std::chrono_literals;

// As many as it allows, all at once.
unsigned spend(Budget& budget, const BudgetOptions& options, base::TimePoint now) {
  unsigned taken = 0;
  for (; taken < 1'000'000 && budget.allows(options, now); ++taken) budget.take(now);
  return taken;
}

TEST(Budget, IsAShareOfTheRequestsOfTheWindow) {
  Budget budget;
  for (int i = 0; i < 1000; ++i) budget.request(at(i * 10ms));
  EXPECT_EQ(spend(budget, {.ratio = 0.2, .floor = 0}, at(9999ms)), 200U);
  EXPECT_FALSE(budget.allows({.ratio = 0.2, .floor = 0}, at(9999ms)));
}

TEST(Budget, AFloorIsAFloorAndNotAnAddition) {
  struct Row {
    std::string_view name;
    unsigned requests, workers;
    double floor;
    unsigned want;
  };
  constexpr std::array rows{Row{"no request, no floor", 0, 1, 0, 0},
                            Row{"no request", 0, 1, 3, 30},
                            Row{"few requests", 100, 1, 3, 30},
                            Row{"as many as the floor", 150, 1, 3, 30},
                            Row{"one request above", 155, 1, 3, 31},
                            Row{"many", 10'000, 1, 3, 2000},
                            Row{"a worker of four has a quarter", 0, 4, 3, 7}};
  for (const Row& row : rows) {
    Budget budget(row.workers);
    for (unsigned i = 0; i < row.requests; ++i) budget.request(at(0s));
    EXPECT_EQ(spend(budget, {.ratio = 0.2, .floor = row.floor}, at(0s)), row.want) << row.name;
  }
}

TEST(Budget, WhatIsOlderThanTheWindowIsForgotten) {
  const BudgetOptions options{.ratio = 0.2, .floor = 0};
  Budget budget;
  for (int i = 0; i < 100; ++i) budget.request(at(0s));
  EXPECT_EQ(spend(budget, options, at(0s)), 20U);
  EXPECT_FALSE(budget.allows(options, at(9s)));
  for (int i = 0; i < 50; ++i) budget.request(at(9s));
  EXPECT_EQ(spend(budget, options, at(9s)), 10U);
  EXPECT_FALSE(budget.allows(options, at(10s)));  // the first second and its tries are gone
  EXPECT_FALSE(budget.allows(options, at(40s)));
  for (int i = 0; i < 50; ++i) budget.request(at(40s));
  EXPECT_EQ(spend(budget, options, at(40s)), 10U);
}

}  // namespace
}  // namespace steelyard::request
