#include "steelyard/weigh/bound.h"

#include <gtest/gtest.h>
#include <numeric>
#include <vector>

namespace steelyard::weigh {
namespace {

std::vector<Bounded> nodes(const std::vector<double>& bases, const std::vector<double>& weights,
                           double floor = 0.1) {
  std::vector<Bounded> all;
  for (std::size_t i = 0; i < bases.size(); ++i) {
    all.push_back({.base = bases[i], .floor = std::min(floor, bases[i]), .weight = weights[i]});
  }
  return all;
}
double share(const std::vector<Bounded>& all, std::size_t at) {
  double sum = 0;
  for (const Bounded& node : all) sum += node.weight;
  return all[at].weight / sum;
}

TEST(Bound, LeavesWhatIsWithin) {
  auto all = nodes({4, 3, 2}, {4, 3, 2});
  bound(all, 0.4);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_DOUBLE_EQ(all[i].weight, all[i].base);
    EXPECT_FALSE(all[i].floored || all[i].capped);
  }
}

TEST(Bound, RaisesToTheFloor) {
  auto all = nodes({1, 1, 1, 1, 1}, {1e-9, 1, 1, 1, 1}, 0.25);
  bound(all, 0.4);
  EXPECT_TRUE(all[0].floored);
  EXPECT_DOUBLE_EQ(all[0].weight, 0.25);
}

TEST(Bound, CapsAtTwiceTheBaseShareAndNeverBelowTheBaseShare) {
  auto small = nodes({1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, {100, 1, 1, 1, 1, 1, 1, 1, 1, 1});
  bound(small, 0.4);
  EXPECT_TRUE(small[0].capped);
  EXPECT_NEAR(share(small, 0), 0.2, 1e-12);

  auto forty = nodes({3, 3, 3, 1}, {100, 1, 1, 1});
  bound(forty, 0.4);
  EXPECT_NEAR(share(forty, 0), 0.4, 1e-12);

  auto large = nodes({8, 1, 1}, {800, 1, 1});
  bound(large, 0.4);
  EXPECT_NEAR(share(large, 0), 0.8, 1e-12);
}

TEST(Bound, DoesNotCapBelowThreeNodes) {
  auto two = nodes({1, 1}, {50, 1});
  bound(two, 0.4);
  EXPECT_FALSE(two[0].capped);
  EXPECT_DOUBLE_EQ(two[0].weight, 50);
}

TEST(Bound, CapsSeveralAtOnceExactly) {
  auto all = nodes({1, 1, 1, 1, 1, 1}, {1000, 500, 250, 1, 1, 1});
  bound(all, 0.4);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_LE(share(all, i), 1.0 / 3 + 1e-12) << i;
  EXPECT_NEAR(share(all, 0), 1.0 / 3, 1e-12);
}

TEST(Bound, WhenAllAreAtTheirCapsTheBaseSharesStand) {
  auto all = nodes({5, 3, 2}, {1, 50, 9});
  bound(all, 0.01);
  EXPECT_NEAR(share(all, 0), 0.5, 1e-12);
  EXPECT_NEAR(share(all, 1), 0.3, 1e-12);
  EXPECT_NEAR(share(all, 2), 0.2, 1e-12);
}

TEST(Bound, RaisesTheOthersRatherThanPutACappedNodeBelowItsBaseWeight) {
  auto ill = nodes({1, 1, 1}, {0.1, 1, 1});
  bound(ill, 0.4);
  EXPECT_NEAR(ill[0].weight, 0.5, 1e-12);
  EXPECT_NEAR(ill[1].weight, 1, 1e-12);
  EXPECT_NEAR(ill[2].weight, 1, 1e-12);
  EXPECT_TRUE(ill[0].raised && ill[1].capped && ill[2].capped);
  auto again = ill;
  bound(again, 0.4);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(again[i].weight, ill[i].weight, 1e-12);
    EXPECT_FALSE(again[i].raised || again[i].capped || again[i].floored);
  }
}

TEST(Bound, NeverPutsACappedNodeBelowItsFloor) {
  auto all = nodes({2, 10, 10}, {1, 1, 1}, 1);
  bound(all, 0.4);
  EXPECT_NEAR(share(all, 0), 2 * 2.0 / 22, 1e-12);
  for (const Bounded& node : all) EXPECT_GE(node.weight, node.floor * (1 - 1e-12));
}

// With k of 10 nodes lying themselves up without limit, the others keep at least 1 − k·cap of the
// traffic.
TEST(Bound, HonestNodesKeepTheirPartWhateverLiarsClaim) {
  for (std::size_t liars = 1; liars <= 4; ++liars) {
    std::vector<double> weights(10, 1);
    for (std::size_t i = 0; i < liars; ++i) weights[i] = 1e6;
    auto all = nodes(std::vector<double>(10, 1), weights);
    bound(all, 0.4);
    double honest = 0;
    for (std::size_t i = liars; i < 10; ++i) honest += share(all, i);
    EXPECT_GE(honest, 1 - 0.2 * static_cast<double>(liars) - 1e-9) << liars;
  }
}

}  // namespace
}  // namespace steelyard::weigh
