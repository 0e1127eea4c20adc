#include "steelyard/pick/weighted_random.h"

#include <gtest/gtest.h>

#include "test/pick/rig.h"

namespace steelyard::pick {
namespace {

TEST(WeightedRandom, PicksDoNotDependOnTheOnesBefore) {
  const Rig rig{1, 1};
  const WeightedRandom picker(rig.upstream);
  base::Rng rng(21);
  const auto cursor = picker.make_cursor(rng);
  const auto seen = letters(picker, rig.input(), *cursor, rng, 100'000);
  int same = 0;
  for (std::size_t i = 1; i < seen.size(); ++i) same += seen[i] == seen[i - 1];
  EXPECT_NEAR(same, 50'000, 800);  // 5 standard deviations
}

TEST(WeightedRandom, CountsOnlyNodesInRotationIntoThePlaces) {
  Rig rig{7, 1, 2};
  rig.upstream.nodes[0].eligibility = model::Eligibility::kOut;
  const WeightedRandom picker(rig.upstream);
  base::Rng rng(22);
  const auto cursor = picker.make_cursor(rng);
  int c = 0;
  for (const char at : letters(picker, rig.input(), *cursor, rng, 30'000)) {
    ASSERT_NE(at, 'a');
    c += at == 'c';
  }
  EXPECT_NEAR(c, 20'000, 410);
}

}  // namespace
}  // namespace steelyard::pick
