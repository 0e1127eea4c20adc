#include "steelyard/pick/weighted_round_robin.h"

#include <array>
#include <gtest/gtest.h>

#include "test/pick/rig.h"

namespace steelyard::pick {
namespace {

using Whole = std::vector<std::uint32_t>;

std::string sequence(const std::vector<double>& weights, int picks) {
  const Rig rig(weights);
  const WeightedRoundRobin picker(rig.upstream);
  base::Rng rng(1);
  const auto cursor = WeightedRoundRobin::cursor_at(0);
  picker.adopt(*cursor);
  return letters(picker, rig.input(), *cursor, rng, picks);
}

TEST(WeightedRoundRobin, GivesThePublishedSequences) {
  EXPECT_EQ(sequence({4, 3, 2}, 18), "aababcabcaababcabc");
  EXPECT_EQ(sequence({5, 1, 1}, 14), "aaaaabcaaaaabc");
  EXPECT_EQ(sequence({4, 2, 1}, 7), "aaababc");
  EXPECT_EQ(sequence({10, 1}, 11), "aaaaaaaaaab");
}

TEST(WeightedRoundRobin, TakesTheCommonPartOutOfTheWeights) {
  EXPECT_EQ(sequence({40, 30, 20}, 9), "aababcabc");
  EXPECT_EQ(sequence({0.4, 0.3, 0.2}, 9), "aababcabc");
  EXPECT_EQ(WeightedRoundRobin::whole(std::vector<double>{3e9, 1e9}), (Whole{3, 1}));
  EXPECT_EQ(WeightedRoundRobin::whole(std::vector<double>{1.5, 1}), (Whole{3, 2}));
  EXPECT_EQ(WeightedRoundRobin::whole(std::vector<double>{4.0 / 3, 1}), (Whole{4, 3}));
  // Neither whole nor nearly: thousandths of the largest, and never nothing.
  EXPECT_EQ(WeightedRoundRobin::whole(std::vector<double>{3.14159265, 1}), (Whole{500, 159}));
  EXPECT_EQ(WeightedRoundRobin::whole(std::vector<double>{1e6, 1}), (Whole{1000, 1}));
}

TEST(WeightedRoundRobin, ANodeThatCannotBeTakenLosesItsTurns) {
  const Rig rig{3, 1, 1};
  rig.line(0).max_in_flight = 1;
  rig.line(0).in_flight = 1;
  const WeightedRoundRobin picker(rig.upstream);
  base::Rng rng(2);
  const auto cursor = WeightedRoundRobin::cursor_at(0);
  picker.adopt(*cursor);
  EXPECT_EQ(letters(picker, rig.input(), *cursor, rng, 4), "bcbc");
  rig.line(0).in_flight = 0;
  EXPECT_EQ(letters(picker, rig.input(), *cursor, rng, 5), "aaabc");
}

// Nobody in four rounds: the turns of the heavy one, which is full, are not walked through.
TEST(WeightedRoundRobin, GivesUpAfterFourRounds) {
  const Rig rig{1000, 1, 1};
  rig.line(0).max_in_flight = 1;
  rig.line(0).in_flight = 1;
  const WeightedRoundRobin picker(rig.upstream);
  base::Rng rng(2);
  const auto cursor = WeightedRoundRobin::cursor_at(0);
  picker.adopt(*cursor);
  std::array<int, 3> picks{};
  for (int i = 0; i < 2000; ++i) ++picks[picker.pick(rig.input(), *cursor, rng).value()];
  EXPECT_EQ(picks[0], 0);
  EXPECT_NEAR(picks[1], picks[2], 200);
  for (const Index other : {1U, 2U}) {
    rig.line(other).max_in_flight = 1;
    rig.line(other).in_flight = 1;
  }
  EXPECT_FALSE(picker.pick(rig.input(), *cursor, rng).has_value());
  // It went on by some of the thousand rounds only: the heavy one is next, not over.
  rig.line(0).in_flight = 0;
  EXPECT_EQ(picker.pick(rig.input(), *cursor, rng), 0U);
}

}  // namespace
}  // namespace steelyard::pick
