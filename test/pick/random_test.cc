#include "steelyard/pick/random.h"

#include <gtest/gtest.h>

#include "test/pick/rig.h"

namespace steelyard::pick {
namespace {

TEST(Random, PassesOverWeightsButNotOverWeightNought) {
  const Rig rig{1000, 1, 0, 1};
  const Random picker(rig.upstream);
  base::Rng rng(31);
  const auto cursor = picker.make_cursor(rng);
  std::vector<int> hits(4, 0);
  for (const char at : letters(picker, rig.input(), *cursor, rng, 30'000))
    ++hits.at(static_cast<std::size_t>(at - 'a'));
  EXPECT_EQ(hits[2], 0);
  for (const std::size_t i : {0U, 1U, 3U}) EXPECT_NEAR(hits[i], 10'000, 410);
}

// The honest size of the worry that random puts everything on one: 3 × (1/3)^10 = 5.1e-5.
TEST(Random, TenPicksOnOneOfThreeAreRare) {
  const Rig rig{1, 1, 1};
  const Random picker(rig.upstream);
  base::Rng rng(32);
  const auto cursor = picker.make_cursor(rng);
  int same = 0;
  constexpr int kSamples = 400'000;
  for (int i = 0; i < kSamples; ++i) {
    const auto ten = letters(picker, rig.input(), *cursor, rng, 10);
    same += ten.find_first_not_of(ten[0]) == std::string::npos;
  }
  EXPECT_NEAR(same, kSamples * 5.08e-5, 23);  // 5 standard deviations
}

}  // namespace
}  // namespace steelyard::pick
