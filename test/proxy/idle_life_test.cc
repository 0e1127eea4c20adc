// How long an idle connection may be kept: what is configured, told and observed.

#include "steelyard/proxy/idle_life.h"

#include <array>
#include <gtest/gtest.h>
#include <string_view>

namespace steelyard::proxy {
namespace {

using namespace std::chrono_literals;
constexpr base::TimePoint kStart{1h};

TEST(IdleLife, IsTheShortestOfWhatIsKnown) {
  IdleLife life;
  EXPECT_EQ(life.limit(50s, kStart), 50s);
  life.told(60s);
  EXPECT_EQ(life.limit(50s, kStart), 50s);
  life.told(5s);
  EXPECT_EQ(life.limit(50s, kStart), 4s);
  life.told(1s);
  EXPECT_EQ(life.limit(50s, kStart), 500ms);
  life.told(0s);
  EXPECT_EQ(life.limit(50s, kStart), 0s);
}

TEST(IdleLife, TwoClosingsAtTheSameAgeTeach) {
  struct Row {
    std::string_view name;
    base::Duration since[2], closed[2];
    base::Duration want;
  };
  constexpr std::array rows{
      Row{"alike", {0s, 20s}, {10s, 30s}, 9s},
      Row{"nearly alike", {0s, 20s}, {10s, 30500ms}, 9s},
      Row{"short ones may differ by 20 ms", {0s, 5s}, {10ms, 5030ms}, 9ms},
      Row{"unlike", {0s, 20s}, {10s, 32s}, 50s},
      Row{"both were idle when the first closed", {0s, 0s}, {10s, 10s}, 50s},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    IdleLife life;
    life.closed(kStart + row.since[0], kStart + row.closed[0]);
    EXPECT_EQ(life.limit(50s, kStart + row.closed[0]), 50s);
    life.closed(kStart + row.since[1], kStart + row.closed[1]);
    EXPECT_EQ(life.limit(50s, kStart + row.closed[1]), row.want);
  }
}

TEST(IdleLife, ForgetsWhatItSawAfterTenMinutes) {
  IdleLife life;
  life.closed(kStart, kStart + 10s);
  life.closed(kStart + 20s, kStart + 30s);
  EXPECT_EQ(life.limit(50s, kStart + 30s + 10min - 1ns), 9s);
  EXPECT_EQ(life.limit(50s, kStart + 30s + 10min), 50s);
}

}  // namespace
}  // namespace steelyard::proxy
