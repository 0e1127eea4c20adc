#include "steelyard/pick/p2c.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <map>

#include "test/pick/rig.h"

namespace steelyard::pick {
namespace {

TEST(P2c, OfTwoNodesTheLessLoadedForItsWeightWins) {
  const Rig rig{3, 1};
  const P2c picker(rig.upstream);
  base::Rng rng(31);
  const auto cursor = picker.make_cursor(rng);
  struct Row {
    std::uint32_t a, b;
    std::string want;
  };
  for (const auto& row : {Row{1, 1, "aaaaa"}, Row{2, 1, "aaaaa"}, Row{3, 0, "bbbbb"},
                          Row{9, 2, "bbbbb"}, Row{1, 0, "aaaaa"}}) {
    rig.line(0).in_flight = row.a;
    rig.line(1).in_flight = row.b;
    EXPECT_EQ(letters(picker, rig.input(), *cursor, rng, 5), row.want) << row.a << " " << row.b;
  }
}

TEST(P2c, NeverTheMostLoadedOfMany) {
  const Rig rig{1, 1, 1, 1};
  rig.line(2).in_flight = 1;  // two distinct draws: one of them is always idle
  const P2c picker(rig.upstream);
  base::Rng rng(32);
  const auto cursor = picker.make_cursor(rng);
  EXPECT_EQ(letters(picker, rig.input(), *cursor, rng, 2000).find('c'), std::string::npos);
}

// Throws `balls` requests that stay and gives the fullest node's count.
std::uint32_t fullest(const Rig& rig, const Picker& picker, Cursor& cursor, base::Rng& rng,
                      int balls) {
  for (std::size_t i = 0; i < rig.upstream.nodes.size(); ++i) rig.line(i).in_flight = 0;
  std::uint32_t most = 0;
  for (int i = 0; i < balls; ++i) {
    const auto at = picker.pick(rig.input(), cursor, rng);
    most = std::max(most, ++rig.line(*at).in_flight);
  }
  return most;
}

TEST(P2c, TheFullestOfNBinsWithNBallsIsAsTheTheorySays) {
  struct Row {
    int bins, trials;
    std::map<std::uint32_t, double> share;  // of trials whose fullest bin has so many
  };
  const std::vector<Row> rows{{256, 400, {{2, 0.11}, {3, 0.88}}},
                              {4096, 100, {{3, 0.98}, {4, 0.02}}},
                              {65536, 24, {{3, 0.69}, {4, 0.31}}}};
  for (const auto& row : rows) {
    SCOPED_TRACE(row.bins);
    const Rig rig(std::vector<double>(static_cast<std::size_t>(row.bins), 1.0));
    const P2c picker(rig.upstream);
    base::Rng rng(33);
    const auto cursor = picker.make_cursor(rng);
    std::map<std::uint32_t, int> seen;
    for (int i = 0; i < row.trials; ++i) ++seen[fullest(rig, picker, *cursor, rng, row.bins)];
    int listed = 0;
    for (const auto& [most, share] : row.share) {
      const double slack = 3.5 * std::sqrt(share * (1 - share) * row.trials) + 0.01 * row.trials;
      EXPECT_NEAR(seen[most], share * row.trials, slack) << "fullest " << most;
      listed += seen[most];
    }
    EXPECT_GE(listed, row.trials * 96 / 100);
  }
}

TEST(P2c, UnderHeavyLoadTheGapToTheMeanStaysSmall) {
  const Rig rig(std::vector<double>(100, 1.0));
  const P2c picker(rig.upstream);
  base::Rng rng(34);
  const auto cursor = picker.make_cursor(rng);
  double gaps = 0;
  for (int i = 0; i < 40; ++i) gaps += fullest(rig, picker, *cursor, rng, 100'000) - 1000.0;
  EXPECT_NEAR(gaps / 40, 1.91, 0.25);
}

TEST(P2c, HeldRequestsDivideAboutAsTheWeights) {
  const Rig rig{3, 2, 1};
  const P2c picker(rig.upstream);
  base::Rng rng(35);
  const auto cursor = picker.make_cursor(rng);
  fullest(rig, picker, *cursor, rng, 6000);
  EXPECT_NEAR(rig.line(0).in_flight, 3000, 10);
  EXPECT_NEAR(rig.line(1).in_flight, 2000, 10);
  EXPECT_NEAR(rig.line(2).in_flight, 1000, 10);
}

}  // namespace
}  // namespace steelyard::pick
