#include "steelyard/pick/load.h"

#include <gtest/gtest.h>

namespace steelyard::pick {
namespace {

TEST(Load, IsInFlightPlusOneForItsWeight) {
  struct Row {
    std::string_view name;
    Load a, b;
    int want;
  };
  constexpr std::int64_t kBig = (std::int64_t{1} << 46) - 1;
  for (const auto& row :
       {Row{"both idle, the bigger is lower", {0, 3}, {0, 1}, -1},
        Row{"a tie across weights", {1, 2}, {0, 1}, 0},
        Row{"equal weights, more in flight", {2, 5}, {1, 5}, 1},
        Row{"one quantum decides at the top", {UINT32_MAX, kBig}, {UINT32_MAX, kBig - 1}, -1},
        Row{"equal at the top", {UINT32_MAX, kBig}, {UINT32_MAX, kBig}, 0}}) {
    const auto order = compare(row.a, row.b);
    EXPECT_EQ(order < 0 ? -1 : order > 0 ? 1 : 0, row.want) << row.name;
  }
}

}  // namespace
}  // namespace steelyard::pick
