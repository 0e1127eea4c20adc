#include "steelyard/pick/rendezvous.h"

#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "steelyard/base/hash.h"
#include "steelyard/base/rng.h"

namespace steelyard::pick {
namespace {

constexpr int kNumbers = 1'000'000;

struct Node {
  std::uint64_t identity;
  double weight;
};

std::vector<Node> nodes_of(const std::vector<double>& weights) {
  std::vector<Node> out;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    out.push_back({base::xxh3("node-" + std::to_string(i)), weights[i]});
  }
  return out;
}

constexpr std::size_t kNobody = 1000;

std::size_t winner(std::uint64_t number, const std::vector<Node>& nodes,
                   std::size_t without = kNobody) {
  std::size_t best = kNobody;
  double lowest = INFINITY;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const double cost = rendezvous_cost(number, nodes[i].identity, nodes[i].weight);
    if (i != without && cost < lowest) lowest = cost, best = i;
  }
  return best;
}

TEST(Rendezvous, SharesAreTheWeights) {
  const auto nodes = nodes_of({5, 3, 2});
  base::Rng rng(71);
  std::vector<double> shares(3, 0);
  for (int i = 0; i < kNumbers; ++i) shares[winner(rng(), nodes)] += 1.0 / kNumbers;
  EXPECT_NEAR(shares[0], 0.5, 0.002);
  EXPECT_NEAR(shares[1], 0.3, 0.002);
  EXPECT_NEAR(shares[2], 0.2, 0.002);
}

TEST(Rendezvous, MoreWeightMovesNumbersOnlyToThatNode) {
  auto nodes = nodes_of({5, 3, 2});
  auto heavier = nodes;
  heavier[2].weight = 4;
  base::Rng rng(72);
  int moved = 0;
  for (int i = 0; i < kNumbers; ++i) {
    const std::uint64_t number = rng();
    const auto before = winner(number, nodes);
    const auto after = winner(number, heavier);
    if (before == after) continue;
    ASSERT_EQ(after, 2U);
    ++moved;
  }
  EXPECT_NEAR(moved / 1e6, 4.0 / 12 - 2.0 / 10, 0.002);
}

TEST(Rendezvous, ANodeThatGoesMovesItsShareAndNoOther) {
  const auto nodes = nodes_of(std::vector<double>(10, 1));
  base::Rng rng(73);
  int moved = 0;
  for (int i = 0; i < kNumbers / 10; ++i) {
    const std::uint64_t number = rng();
    const auto before = winner(number, nodes);
    const auto after = winner(number, nodes, 4);
    ASSERT_TRUE(before == 4 || after == before);
    moved += before != after;
  }
  EXPECT_NEAR(moved / 1e5, 0.1, 0.005);
}

}  // namespace
}  // namespace steelyard::pick
