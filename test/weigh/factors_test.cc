#include "steelyard/weigh/factors.h"

#include <array>
#include <gtest/gtest.h>
#include <string_view>

#include "test/weigh/law.h"
#include "test/weigh/scene.h"

namespace steelyard::weigh {
namespace {

using std::chrono::milliseconds;

model::Observation node(double score, double throughput, double ms) {
  model::Observation seen;
  seen.score = {score, at(0), 1};
  seen.rate = {throughput * 50, at(0), 1};
  seen.mean_rate = {50, at(0), 1};
  seen.latency_mean = {milliseconds(static_cast<int>(ms)), at(0), 1};
  return seen;
}

TEST(Factors, HitsTheVectorsOfBaseTen) {
  struct Row {
    std::string_view name;
    double score, throughput, ms, exact, rounded;
  };
  constexpr std::array rows{
      Row{"all well", 100, 1, 0, 10, 10},
      Row{"50 ms", 100, 1, 50, 9.4, 9},
      Row{"200 ms", 100, 1, 200, 8.5, 9},
      Row{"twice the usual rate is the real maximum", 100, 2, 0, 13, 13},
      Row{"more than twice counts as twice", 100, 7, 0, 13, 13},
      Row{"the least is 0.7, rounded to 1", 10, 0, 60000, 0.7, 1},
      Row{"from 1800 ms on the latency is 0.1", 100, 1, 1800, 7.3, 7},
      Row{"slower makes no difference", 100, 1, 10000, 7.3, 7},
  };
  for (const Row& row : rows) {
    Asked exact(std::make_unique<Factors>(FactorsOptions{.round = false}));
    EXPECT_NEAR(10 * exact.ask({10}, {node(row.score, row.throughput, row.ms)}, at(0))[0].value,
                row.exact, 1e-12)
        << row.name;
    Asked rounded(std::make_unique<Factors>(FactorsOptions{}));
    EXPECT_NEAR(10 * rounded.ask({10}, {node(row.score, row.throughput, row.ms)}, at(0))[0].value,
                row.rounded, 1e-12)
        << row.name;
  }
}

TEST(Factors, NeverRoundsBelowOne) {
  Asked law(std::make_unique<Factors>(FactorsOptions{}));
  EXPECT_DOUBLE_EQ(law.ask({1}, {node(0, 0, 60000)}, at(0))[0].value, 1);
}

TEST(Factors, TakesOtherCoefficients) {
  Asked law(std::make_unique<Factors>(
      FactorsOptions{.health = 1, .throughput = 0, .latency = 0, .round = false}));
  EXPECT_DOUBLE_EQ(law.ask({10}, {node(37, 2, 500)}, at(0))[0].value, 0.37);
}

TEST(Factors, WithoutAScoreANodeIsUnknown) {
  Asked law(std::make_unique<Factors>(FactorsOptions{}));
  model::Observation seen = node(100, 1, 0);
  seen.score.reset();
  EXPECT_FALSE(law.ask({10}, {seen}, at(0))[0].known);
}

TEST(Factors, AnUnmeasuredNodeIsNotTheFastest) {
  Asked law(std::make_unique<Factors>(FactorsOptions{.round = false}));
  model::Observation blank;
  blank.score = {100, at(0), 1};
  const auto wishes = law.ask({10, 10, 10}, {node(100, 1, 200), node(100, 1, 600), blank}, at(0));
  EXPECT_NEAR(wishes[2].value, 0.4 + 0.3 + 0.3 * (0.5 + 0.25) / 2, 1e-12);
}

TEST(Factors, OurLatencyOutranksTheReportedOne) {
  Asked law(std::make_unique<Factors>(FactorsOptions{.round = false}));
  model::Observation seen = node(100, 1, 200);
  seen.reported_latency = {milliseconds(0), at(0), 1};
  EXPECT_NEAR(law.ask({10}, {seen}, at(0))[0].value, 0.85, 1e-12);
  seen.latency_mean.reset();
  EXPECT_NEAR(law.ask({10}, {seen}, at(0))[0].value, 1, 1e-12);
}

TEST(Factors, ARateWithoutAPastCountsAsUsual) {
  Asked law(std::make_unique<Factors>(FactorsOptions{.round = false}));
  model::Observation seen = node(100, 1, 0);
  seen.mean_rate->value = 0;
  EXPECT_NEAR(law.ask({10}, {seen}, at(0))[0].value, 1, 1e-12);
}

TEST(Factors, ARefusedReportIsTheFloor) {
  Asked law(std::make_unique<Factors>(FactorsOptions{}));
  model::Observation seen = node(100, 1, 0);
  seen.report_failed = true;
  EXPECT_TRUE(law.ask({10}, {seen}, at(0))[0].floor);
}

}  // namespace
}  // namespace steelyard::weigh
