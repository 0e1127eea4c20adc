#include "steelyard/pick/maglev_table.h"

#include <algorithm>
#include <gtest/gtest.h>

namespace steelyard::pick {
namespace {

using Owners = std::vector<MaglevTable::Owner>;

Owners named(std::size_t count) {
  Owners out;
  for (std::size_t i = 0; i < count; ++i) out.push_back({"node-" + std::to_string(i)});
  return out;
}

std::vector<double> counts(const MaglevTable& table, std::size_t owners) {
  std::vector<double> out(owners, 0);
  for (const auto owner : table.places()) ++out[owner];
  return out;
}

TEST(MaglevTable, GivesThePublishedTable) {
  Owners owners;
  for (int port = 90; port <= 95; ++port) owners.push_back({"127.0.0.1:" + std::to_string(port)});
  const MaglevTable table(owners, 7);
  EXPECT_EQ(table.places(), (std::vector<std::uint32_t>{2, 4, 0, 1, 5, 0, 3}));
  EXPECT_EQ(table[9], table.places()[2]);
}

TEST(MaglevTable, IsBalanced) {
  struct Row {
    std::size_t owners;
    std::uint32_t size;
    double most, least;
  };
  for (const auto& row : {Row{1000, 65537, 1.0071, 0.9918}, Row{100, 65537, 1.0010, 0.9994},
                          Row{1000, 655373, 1.0010, 0.999}}) {
    const auto seen = counts(MaglevTable(named(row.owners), row.size), row.owners);
    const double mean = static_cast<double>(row.size) / static_cast<double>(row.owners);
    EXPECT_LE(*std::max_element(seen.begin(), seen.end()) / mean, row.most + 5e-4);
    EXPECT_GE(*std::min_element(seen.begin(), seen.end()) / mean, row.least - 5e-4);
  }
}

TEST(MaglevTable, FollowsTheWeights) {
  Owners owners{{"a", 5}, {"b", 3}, {"c", 2}, {"d", 0.01}};
  const auto seen = counts(MaglevTable(owners), owners.size());
  for (std::size_t i = 0; i < owners.size(); ++i) {
    EXPECT_NEAR(seen[i], owners[i].weight / 10.01 * MaglevTable::kSize, 3) << i;
  }
}

// The part of all places that moved between owners who stayed.
double moved(std::size_t count, std::size_t gone) {
  const auto before = named(count);
  const MaglevTable old(before);
  double sum = 0;
  constexpr std::size_t kTrials = 5;
  for (std::size_t trial = 0; trial < kTrials; ++trial) {
    const std::size_t first = trial * count / kTrials;
    Owners after = before;
    after.erase(after.begin() + static_cast<std::ptrdiff_t>(first),
                after.begin() + static_cast<std::ptrdiff_t>(first + gone));
    const MaglevTable now(after);
    for (std::uint32_t place = 0; place < MaglevTable::kSize; ++place) {
      const auto& was = before[old.places()[place]].name;
      const bool stayed = old.places()[place] < first || old.places()[place] >= first + gone;
      sum += stayed && after[now.places()[place]].name != was;
    }
  }
  return sum / kTrials / MaglevTable::kSize;
}

TEST(MaglevTable, RemovingOneOwnerMovesLessThanAHundredthOfTheOthers) {
  for (const std::size_t count : {10U, 100U, 1000U}) {
    EXPECT_LE(moved(count, 1), 0.01) << count;
    EXPECT_GT(moved(count, 1), 0) << "it is not free, as a ring is";
  }
  EXPECT_NEAR(moved(1000, 10), 0.0237, 0.006);
}

TEST(MaglevTable, HasNoPlacesWithoutOwners) { EXPECT_TRUE(MaglevTable({}).places().empty()); }

}  // namespace
}  // namespace steelyard::pick
