#include "steelyard/weigh/choose.h"

#include <array>
#include <gtest/gtest.h>
#include <string_view>

namespace steelyard::weigh {
namespace {

TEST(Choose, FollowsWhatTheNodesReport) {
  struct Row {
    std::string_view name;
    Reported reported;  // nodes, utilisation, capacity, score
    std::string_view running, want;
  };
  constexpr std::array rows{
      Row{"nothing", {5, 0, 0, 0}, "", "static"},
      Row{"nothing yet", {5, 0, 0, 0}, "static", "static"},
      Row{"scores only", {5, 0, 0, 5}, "static", "score_map"},
      Row{"one score is a start", {5, 0, 0, 1}, "static", "score_map"},
      Row{"utilisation and scores", {5, 5, 5, 5}, "", "capacity"},
      Row{"utilisation without traffic of ours", {5, 5, 0, 5}, "score_map", "score_map"},
      Row{"utilisation of a few only", {5, 2, 2, 5}, "score_map", "score_map"},
      Row{"utilisation of most", {5, 3, 3, 5}, "score_map", "capacity"},
      Row{"utilisation of one node", {5, 1, 1, 1}, "", "score_map"},
      Row{"utilisation only, of one node", {1, 1, 1, 0}, "", "static"},
      Row{"capacity goes on through a quiet night", {5, 5, 0, 5}, "capacity", "capacity"},
      Row{"capacity goes on when some fall silent", {5, 2, 2, 5}, "capacity", "capacity"},
      Row{"capacity ends when one is left", {5, 1, 1, 5}, "capacity", "score_map"},
      Row{"all silent: capacity goes on", {5, 0, 0, 0}, "capacity", "capacity"},
      Row{"all silent: the map goes on", {5, 0, 0, 0}, "score_map", "score_map"},
  };
  for (const Row& row : rows) {
    const Choice choice = choose(row.reported, row.running);
    EXPECT_EQ(choice.controller, row.want) << row.name;
    EXPECT_FALSE(choice.why.empty()) << row.name;
  }
}

TEST(Choose, TellsBeforehandWhatWillRun) {
  EXPECT_EQ(choose("adaptive", true).controller, "score_map");
  EXPECT_EQ(choose("adaptive", false).controller, "static");
  EXPECT_EQ(choose("factors", true).why, "configured");
  EXPECT_EQ(choose("static", false).why, "configured");
  EXPECT_EQ(
      choose("score_map", false).why,
      "configured; needs score, but sense.score is not configured: weights stay at their base");
}

}  // namespace
}  // namespace steelyard::weigh
