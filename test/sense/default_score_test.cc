#include "steelyard/sense/default_score.h"

#include <array>
#include <gtest/gtest.h>
#include <string_view>

namespace steelyard::sense {
namespace {

using std::chrono::milliseconds;

TEST(DefaultScore, FollowsTheRule) {
  struct Row {
    std::string_view name;
    double gc, ms, threads, heap, want;
  };
  constexpr std::array rows{
      Row{"all well", 0, 0, 0, 0, 100},
      Row{"the articles' example reply gives 100, not 78", 3, 187, 45, 0.72, 100},
      Row{"five collections a minute are free", 5, 0, 0, 0, 100},
      Row{"each above costs two", 8, 0, 0, 0, 94},
      Row{"collections cost twenty at most", 50, 0, 0, 0, 80},
      Row{"500 ms is not yet slow", 0, 500, 0, 0, 100},
      Row{"501 ms is slow", 0, 501, 0, 0, 85},
      Row{"1000 ms is slow only", 0, 1000, 0, 0, 85},
      Row{"1001 ms costs twenty more", 0, 1001, 0, 0, 65},
      Row{"100 threads are free", 0, 0, 100, 0, 100},
      Row{"101 threads", 0, 0, 101, 0, 90},
      Row{"85 % of the heap is free", 0, 0, 0, 0.85, 100},
      Row{"above 85 % of the heap", 0, 0, 0, 0.86, 90},
      Row{"everything at once", 50, 2000, 500, 0.99, 25},
  };
  for (const Row& row : rows) {
    model::LoadReport report;
    report.average_response = milliseconds(static_cast<int>(row.ms));
    report.active_threads = row.threads;
    report.memory = row.heap;
    EXPECT_DOUBLE_EQ(*default_score(report, row.gc), row.want) << row.name;
  }
}

TEST(DefaultScore, NeverFallsBelowItsFloor) {
  model::LoadReport report;
  report.memory = 0.99;
  EXPECT_DOUBLE_EQ(*default_score(report, 0, {.heap_penalty = 500}), 10);
}

TEST(DefaultScore, CostsNothingForWhatWasNotReported) {
  model::LoadReport report;
  report.memory = 0.9;
  EXPECT_DOUBLE_EQ(*default_score(report, std::nullopt), 90);
}

TEST(DefaultScore, IsUnknownWhenNothingWasReported) {
  model::LoadReport report;
  report.utilisation = 0.3;
  EXPECT_FALSE(default_score(report, std::nullopt));
}

}  // namespace
}  // namespace steelyard::sense
