#include "steelyard/pick/stride.h"

#include <gtest/gtest.h>
#include <numeric>

#include "test/pick/rig.h"

namespace steelyard::pick {
namespace {

using Parts = std::vector<std::uint32_t>;

TEST(Stride, ScalesWeightsAsPublished) {
  EXPECT_EQ(Stride::scaled(std::vector<double>{5, 1, 1}), (Parts{65535, 13107, 13107}));
  EXPECT_EQ(Stride::scaled(std::vector<double>{4, 2, 1}), (Parts{65535, 32768, 16384}));
  EXPECT_EQ(Stride::scaled(std::vector<double>{5, 0, 1}), (Parts{65535, 39321, 13107}));
  // 10 × the mean at most, 1 % of it at least.
  const auto bounded = Stride::scaled(std::vector<double>(1, 1e9));
  EXPECT_EQ(bounded, Parts{65535});
  std::vector<double> many(100, 1);
  many[0] = 1e6;
  many[1] = 1e-6;
  const auto parts = Stride::scaled(many);
  const double mean = (1e6 + 98 + 1e-6) / 100;
  EXPECT_EQ(parts[0], 65535);
  EXPECT_EQ(parts[1], std::lround(std::round(65535 / (10 * mean) * mean) * 0.01));
}

struct Vector {
  std::vector<double> weights;
  std::string picks;
  std::uint64_t numbers;
};

TEST(Stride, GivesTheSequencesOfTheFormula) {
  for (const auto& [weights, picks, numbers] : {Vector{{5, 1, 1}, "acaabaaacaabaaacaabaa", 43},
                                                Vector{{4, 2, 1}, "abcaabacabaabacabaabac", 36}}) {
    const Rig rig(weights);
    const Stride picker(rig.upstream);
    base::Rng rng(41);
    const auto cursor = Stride::cursor_at(0);
    EXPECT_EQ(letters(picker, rig.input(), *cursor, rng, static_cast<int>(picks.size())), picks);
    EXPECT_EQ(Stride::number_of(*cursor), numbers);
  }
}

TEST(Stride, SharesAreThoseOfTheScaledWeights) {
  const Rig rig{5, 1, 1};
  const Stride picker(rig.upstream);
  EXPECT_NEAR(*picker.share(0), 5 / 7.0, 1e-4);
  EXPECT_NEAR(*picker.share(1), 1 / 7.0, 1e-4);
  double sum = 0;
  for (Index i = 0; i < 3; ++i) sum += *picker.share(i);
  EXPECT_NEAR(sum, 1, 1e-12);
}

TEST(Stride, PassesOverFewNumbersWhateverTheWeights) {
  for (const auto& weights : {std::vector<double>{1000, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1},
                              std::vector<double>(1000, 1), std::vector<double>{1e9, 1}}) {
    const Rig rig(weights);
    const Stride picker(rig.upstream);
    base::Rng rng(42);
    const auto cursor = Stride::cursor_at(0);
    constexpr int kPicks = 20'000;
    for (int i = 0; i < kPicks; ++i) ASSERT_TRUE(picker.pick(rig.input(), *cursor, rng));
    EXPECT_LE(Stride::number_of(*cursor), 12U * kPicks);
  }
}

TEST(Stride, FreshCursorsBeginOutOfStep) {
  const Rig rig{1, 1, 1, 1};
  const Stride picker(rig.upstream);
  base::Rng rng(43);
  std::vector<int> hits(4, 0);
  for (int i = 0; i < 4000; ++i) ++hits[*picker.pick(rig.input(), *picker.make_cursor(rng), rng)];
  for (const int hit : hits) EXPECT_NEAR(hit, 1000, 140);
}

}  // namespace
}  // namespace steelyard::pick
