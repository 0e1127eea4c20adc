#include "steelyard/weigh/score_map.h"

#include <array>
#include <gtest/gtest.h>

#include "test/weigh/law.h"
#include "test/weigh/scene.h"

namespace steelyard::weigh {
namespace {

model::Observation scored(double score) {
  model::Observation seen;
  seen.score = {score, at(0), 1};
  return seen;
}

TEST(ScoreMap, MapsAllElevenBoundaries) {
  struct Row {
    double score, want;
  };
  constexpr std::array rows{Row{100, 10}, Row{95, 10}, Row{94, 8}, Row{85, 8},
                            Row{84, 6},   Row{70, 6},  Row{69, 4}, Row{50, 4},
                            Row{49, 2},   Row{30, 2},  Row{29, 1}, Row{0, 1}};
  for (const Row& row : rows) {
    Asked map(std::make_unique<ScoreMap>(ScoreMapOptions{}));
    EXPECT_DOUBLE_EQ(map.ask({4}, {scored(row.score)}, at(0))[0].value, row.want / 10) << row.score;
  }
}

TEST(ScoreMap, GivesFourToASixtyFive) { EXPECT_DOUBLE_EQ(ScoreMap({}).map(65), 4); }

TEST(ScoreMap, FallsOnlyTwoPointsBelowAnEdgeAndRisesAtIt) {
  struct Row {
    std::string_view name;
    double score, want;
  };
  constexpr std::array rows{
      Row{"at the edge", 95, 10},
      Row{"one below stays", 94, 10},
      Row{"two below stays", 93, 10},
      Row{"more than two below falls", 92.9, 8},
      Row{"between stays down", 94.9, 8},
      Row{"the edge rises", 95, 10},
      Row{"a fall past one edge and near the next takes one step", 84, 8},
      Row{"then holds above the next", 83, 8},
      Row{"and falls below it", 82, 6},
      Row{"a great fall goes all the way", 10, 1},
      Row{"a great rise too", 96, 10},
  };
  Asked map(std::make_unique<ScoreMap>(ScoreMapOptions{}));
  for (const Row& row : rows) {
    EXPECT_DOUBLE_EQ(map.ask({1}, {scored(row.score)}, at(0))[0].value, row.want / 10) << row.name;
  }
}

TEST(ScoreMap, RemembersEachNodeForItselfAndForgets) {
  Asked map(std::make_unique<ScoreMap>(ScoreMapOptions{}));
  map.ask({1, 1}, {scored(95), scored(94)}, at(0));
  const auto wishes = map.ask({1, 1}, {scored(94), scored(94)}, at(1));
  EXPECT_DOUBLE_EQ(wishes[0].value, 1.0);
  EXPECT_DOUBLE_EQ(wishes[1].value, 0.8);
  map.law->forget({0, 1});
  EXPECT_DOUBLE_EQ(map.ask({1, 1}, {scored(94), scored(94)}, at(2))[0].value, 0.8);
}

TEST(ScoreMap, TakesARefusedReportAsTheFloorAndAMissingScoreAsUnknown) {
  Asked map(std::make_unique<ScoreMap>(ScoreMapOptions{}));
  model::Observation refused = scored(100);
  refused.report_failed = true;
  const auto wishes = map.ask({1, 1}, {refused, model::Observation{}}, at(0));
  EXPECT_TRUE(wishes[0].known && wishes[0].floor);
  EXPECT_FALSE(wishes[1].known);
}

TEST(ScoreMap, GivesTheValueItselfWhenAbsolute) {
  Asked map(std::make_unique<ScoreMap>(ScoreMapOptions{.absolute = true}));
  EXPECT_EQ(map.law->law().scale, Scale::kAbsolute);
  EXPECT_DOUBLE_EQ(map.ask({40}, {scored(72)}, at(0))[0].value, 6);
}

TEST(ScoreMap, TakesAnotherTable) {
  const ScoreMap map({.table = {{50, 20}}, .otherwise = 5});
  EXPECT_DOUBLE_EQ(map.map(50), 20);
  EXPECT_DOUBLE_EQ(map.map(49.9), 5);
}

TEST(ScoreMap, RefusesATableOutOfOrder) {
  schema::Faults faults;
  ScoreMapOptions{}.check(faults);
  EXPECT_TRUE(faults.list.empty());
  ScoreMapOptions{.table = {{50, 4}, {70, 6}}}.check(faults);
  ASSERT_EQ(faults.list.size(), 1U);
  EXPECT_EQ(faults.list[0].text, "must go from high to low scores, but 70 follows 50");
}

TEST(ScoreMap, SaysItsNumbers) {
  Asked map(std::make_unique<ScoreMap>(ScoreMapOptions{}));
  EXPECT_EQ(map.ask({1}, {scored(72)}, at(0))[0].why, "score 72 → 6 of 10");
  EXPECT_EQ(map.ask({1}, {scored(69)}, at(0))[0].why,
            "score 69 → 6 of 10 (not yet 2 points below the edge)");
}

}  // namespace
}  // namespace steelyard::weigh
