// What every picker of the registry must do. A new line in registry.cc is tested here without
// another word.
#include <algorithm>
#include <gtest/gtest.h>
#include <numeric>

#include "test/pick/allocations.h"
#include "test/pick/rig.h"

namespace steelyard::pick {
namespace {

using model::Eligibility;
constexpr std::uint64_t kSeed = 20250117;
constexpr int kMillion = 1'000'000;

class Conformance : public testing::TestWithParam<const Kind*> {
 protected:
  const Kind& kind = *GetParam();
  base::Rng rng{kSeed};

  [[nodiscard]] std::vector<int> count(const Picker& picker, Cursor& cursor, const Rig& rig,
                                       int picks) {
    std::vector<int> hits(rig.upstream.nodes.size(), 0);
    for (int i = 0; i < picks; ++i) {
      const auto at = picker.pick(rig.input(), cursor, rng);
      if (at) ++hits.at(*at);
    }
    return hits;
  }
};

std::vector<const Kind*> all() {
  std::vector<const Kind*> out;
  for (const Kind& kind : kinds()) out.push_back(&kind);
  return out;
}
INSTANTIATE_TEST_SUITE_P(AllPickers, Conformance, testing::ValuesIn(all()),
                         [](const auto& row) { return std::string(row.param->name); });

TEST(Registry, NamesAreDistinctAndFoundAndTheDefaultExists) {
  for (const Kind& kind : kinds()) {
    EXPECT_EQ(find(kind.name), &kind);
    EXPECT_FALSE(kind.summary.empty());
    EXPECT_GT(kind.share_bound, 0);
  }
  EXPECT_EQ(find("nonesuch"), nullptr);
  EXPECT_NE(find(kDefaultPicker), nullptr);
}

TEST_P(Conformance, GivesNothingWithoutNodes) {
  const Rig rig{};
  const auto picker = kind.make(rig.upstream);
  const auto cursor = picker->make_cursor(rng);
  EXPECT_EQ(picker->pick(rig.input(), *cursor, rng), std::nullopt);
}

TEST_P(Conformance, GivesTheOneNodeEveryTime) {
  const Rig rig{3};
  const auto picker = kind.make(rig.upstream);
  const auto cursor = picker->make_cursor(rng);
  for (int i = 0; i < 100; ++i) ASSERT_EQ(picker->pick(rig.input(), *cursor, rng), Index{0});
}

TEST_P(Conformance, GivesNothingWhenAllAreDrainedEvenInPanic) {
  Rig rig{3, 2, 0, 0};
  for (std::size_t i = 0; i < 2; ++i) rig.upstream.nodes[i].eligibility = Eligibility::kDraining;
  for (const bool panic : {false, true}) {
    rig.upstream.panic = panic;
    const auto picker = kind.make(rig.upstream);
    const auto cursor = picker->make_cursor(rng);
    for (int i = 0; i < 100; ++i) ASSERT_EQ(picker->pick(rig.input(), *cursor, rng), std::nullopt);
  }
}

TEST_P(Conformance, PicksTheEjectedOnlyInPanic) {
  Rig rig{1, 1, 1};
  rig.upstream.nodes[1].eligibility = Eligibility::kOut;
  for (const bool panic : {false, true}) {
    rig.upstream.panic = panic;
    const auto picker = kind.make(rig.upstream);
    const auto cursor = picker->make_cursor(rng);
    EXPECT_EQ(count(*picker, *cursor, rig, 300)[1] > 0, panic);
  }
}

TEST_P(Conformance, GivesATrialNodeOneRequestAtATime) {
  Rig rig{1, 1};
  rig.upstream.nodes[1].eligibility = Eligibility::kTrial;
  rig.line(1).max_in_flight = 1;
  const auto picker = kind.make(rig.upstream);
  const auto cursor = picker->make_cursor(rng);
  int trials = 0;
  for (int i = 0; i < 1000; ++i) {
    const auto at = picker->pick(rig.input(), *cursor, rng);
    ASSERT_TRUE(at);
    if (*at == 0) continue;
    const auto held = model::InFlight::acquire(rig.line(1));
    ASSERT_TRUE(held);
    ++trials;
    for (int j = 0; j < 5; ++j) ASSERT_EQ(picker->pick(rig.input(), *cursor, rng), Index{0});
  }
  EXPECT_GT(trials, 50);
}

TEST_P(Conformance, GivesTheLastNodeThatWasNotTried) {
  const Rig rig{1'000'000, 1000, 1};
  const auto picker = kind.make(rig.upstream);
  const auto cursor = picker->make_cursor(rng);
  for (int i = 0; i < 100; ++i) {
    const std::vector<model::NodeRef> tried{rig.upstream.nodes[0].ref, rig.upstream.nodes[1].ref};
    ASSERT_EQ(picker->pick(rig.input(tried), *cursor, rng), Index{2});
  }
  const std::vector<model::NodeRef> tried{rig.upstream.nodes[2].ref, rig.upstream.nodes[0].ref,
                                          rig.upstream.nodes[1].ref};
  EXPECT_EQ(picker->pick(rig.input(tried), *cursor, rng), std::nullopt);
}

TEST_P(Conformance, SameSeedGivesTheSamePicks) {
  const Rig rig{5, 4, 3, 2, 1};
  const auto picker = kind.make(rig.upstream);
  const auto run = [&](std::uint64_t seed) {
    base::Rng mine(seed);
    const auto cursor = picker->make_cursor(mine);
    return letters(*picker, rig.input(), *cursor, mine, 200);
  };
  EXPECT_EQ(run(7), run(7));
  std::string others;
  for (std::uint64_t seed = 8; seed < 16; ++seed) others += run(seed) == run(7) ? 's' : 'd';
  EXPECT_NE(others, "ssssssss");
}

struct Weights {
  std::string_view name;
  std::vector<double> weights;
};

TEST_P(Conformance, KeepsItsShareWithinItsBound) {
  const std::vector<Weights> rows{
      {"equal", {1, 1, 1, 1}},
      {"ordinary", {5, 1, 1}},
      {"a weight of 0 among others", {4, 0, 2}},
      {"from 1 to a million", {1, 10, 100, 1000, 10'000, 100'000, 1'000'000}},
      {"99 to 1", {99, 1}},
      {"ramped thirds", {4.0 / 3, 0.1, 0.7, 2.0 / 7}},
      {"tiny", {3e-9, 1e-9, 1e-9}},
      {"huge", {3e18, 1e18, 1e15}}};
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    const Rig rig(row.weights);
    const auto picker = kind.make(rig.upstream);
    const auto cursor = picker->make_cursor(rng);
    const auto hits = count(*picker, *cursor, rig, kMillion);
    EXPECT_EQ(std::accumulate(hits.begin(), hits.end(), 0), kMillion);
    for (std::size_t i = 0; i < hits.size(); ++i) {
      EXPECT_NEAR(hits[i] / 1e6, rig.share(kind, i), kind.share_bound) << "node " << i;
    }
  }
}

TEST_P(Conformance, KeepsTheSharesOfTheRestWhenSomeAreTried) {
  const Rig rig{7, 1, 2, 1};
  const std::vector<model::NodeRef> tried{rig.upstream.nodes[0].ref};
  const auto picker = kind.make(rig.upstream);
  const auto cursor = picker->make_cursor(rng);
  std::vector<int> hits(4, 0);
  for (int i = 0; i < 100'000; ++i) ++hits[*picker->pick(rig.input(tried), *cursor, rng)];
  EXPECT_EQ(hits[0], 0);
  if (kind.weighted) {
    const double uneven = 4 * unevenness(kind);
    EXPECT_NEAR(hits[2], 50'000, (exact(kind) ? 3 : 800) + uneven * 50'000);
    EXPECT_NEAR(hits[1], 25'000, (exact(kind) ? 3 : 700) + uneven * 25'000);
  }
}

TEST_P(Conformance, ServesTenThousandNodes) {
  std::vector<double> weights(10'000, 1);
  std::fill(weights.begin(), weights.begin() + 5000, 3);
  const Rig rig(weights);
  const auto picker = kind.make(rig.upstream);
  const auto cursor = picker->make_cursor(rng);
  const auto hits = count(*picker, *cursor, rig, 8000);
  const double heavy_picks = 8000 * rig.share(kind, 0);
  const double light_picks = 8000 * rig.share(kind, 9999);
  for (std::size_t i = 0; i < hits.size(); ++i) {
    ASSERT_NEAR(hits[i], i < 5000 ? heavy_picks : light_picks, exact(kind) ? 2 : 11) << i;
  }
  const int heavy = std::accumulate(hits.begin(), hits.begin() + 5000, 0);
  if (!random_draws(kind) || kind.keyed)
    return;  // states its bound by node; equal weights may come in blocks
  EXPECT_NEAR(heavy, 5000 * heavy_picks, 225);  // 5 standard deviations
}

TEST_P(Conformance, PicksWithoutAllocating) {
  Rig rig{5, 1, 1, 3, 0, 9};
  rig.line(3).max_in_flight = 1;
  const auto picker = kind.make(rig.upstream);
  const auto cursor = picker->make_cursor(rng);
  const std::vector<model::NodeRef> tried{rig.upstream.nodes[0].ref, rig.upstream.nodes[5].ref};
  const auto before = test::allocations();
  for (int i = 0; i < 10'000; ++i) {
    rig.line(3).in_flight.store(static_cast<std::uint32_t>(i % 2), std::memory_order_relaxed);
    (void)picker->pick(rig.input(), *cursor, rng);
    (void)picker->pick(rig.input(tried), *cursor, rng);
  }
  EXPECT_EQ(test::allocations() - before, 0U);
}

TEST(Allocations, AreCounted) {
  const auto before = test::allocations();
  const auto one = std::make_unique<std::vector<int>>(10);
  EXPECT_EQ(test::allocations() - before, 2U);
}

// A restart shows when Tables come as often as picks: from a fixed place the first node would get
// everything, from a random place the counts would spread like random draws, a hundred times the
// bound.
TEST_P(Conformance, AnotherOrderOfTheListDoesNotRestartTheRotation) {
  const Rig rig{5, 1, 1, 3};
  std::vector<std::size_t> order{0, 1, 2, 3};
  std::vector<model::TableUpstream> tables;
  do {
    tables.push_back(rig.ordered(order));
  } while (std::next_permutation(order.begin(), order.end()));
  std::vector<std::unique_ptr<const Picker>> pickers;
  for (const auto& table : tables) pickers.push_back(kind.make(table));
  const auto cursor = pickers[0]->make_cursor(rng);
  std::vector<int> hits(4, 0);
  for (int i = 0; i < kMillion; ++i) {
    const std::size_t now = rng.below(pickers.size());
    pickers[now]->adopt(*cursor);
    const auto at = pickers[now]->pick(rig.input(), *cursor, rng);
    ++hits[static_cast<std::size_t>(tables[now].nodes[*at].name[0] - 'a')];
  }
  for (std::size_t i = 0; i < 4; ++i)
    EXPECT_NEAR(hits[i] / 1e6, rig.share(kind, i), kind.share_bound);
}

TEST_P(Conformance, AChangeOfWeightsDoesNotRestartTheRotation) {
  Rig rig{5, 1, 1};
  std::vector<std::unique_ptr<const Picker>> pickers;
  std::vector<double> shares(3, 0);
  for (const auto& weights :
       {std::vector<double>{5, 1, 1}, {1, 1, 5}, {50, 10, 60}, {0.3, 0.4, 0.1}}) {
    for (std::size_t i = 0; i < 3; ++i) rig.upstream.nodes[i].weight = weights[i];
    for (std::size_t i = 0; i < 3; ++i) shares[i] += rig.share(kind, i) / 4;
    pickers.push_back(kind.make(rig.upstream));
  }
  const auto cursor = pickers[0]->make_cursor(rng);
  std::vector<int> hits(3, 0);
  for (int i = 0; i < kMillion; ++i) {
    const auto& picker = *pickers[static_cast<std::size_t>(i) % 4];
    picker.adopt(*cursor);
    ++hits[*picker.pick(rig.input(), *cursor, rng)];
  }
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(hits[i] / 1e6, shares[i], kind.share_bound);
}

TEST_P(Conformance, ANodeThatComesAndGoesDoesNotRestartTheRotation) {
  const Rig rig{5, 2, 1, 4};
  const std::vector<model::TableUpstream> tables{rig.ordered({0, 1, 2, 3}), rig.ordered({0, 1, 2})};
  const std::vector<std::unique_ptr<const Picker>> pickers = [&] {
    std::vector<std::unique_ptr<const Picker>> out;
    for (const auto& table : tables) out.push_back(kind.make(table));
    return out;
  }();
  const auto cursor = pickers[0]->make_cursor(rng);
  std::vector<double> hits(4, 0);
  for (int i = 0; i < kMillion; ++i) {
    const auto& picker = *pickers[static_cast<std::size_t>(i / 3) % 2];
    if (i % 3 == 0) picker.adopt(*cursor);
    hits[*picker.pick(rig.input(), *cursor, rng)] += 1e-6;
  }
  // The nodes that stay keep their proportions to each other.
  const double stayed = hits[0] + hits[1] + hits[2];
  const double sum = kind.weighted ? 8 : 3;
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(hits[i] / stayed, (kind.weighted ? rig.upstream.nodes[i].weight : 1) / sum, 0.01)
        << "node " << i;
  }
  EXPECT_GT(hits[3], 0.08);
}

TEST_P(Conformance, GoesOnAfterATimeWithoutNodes) {
  const Rig rig{3, 2, 1};
  const auto picker = kind.make(rig.upstream);
  const auto empty = kind.make(rig.ordered({}));
  const auto cursor = empty->make_cursor(rng);
  std::vector<int> hits(3, 0);
  for (int i = 0; i < kMillion; ++i) {
    empty->adopt(*cursor);
    ASSERT_EQ(empty->pick(rig.input(), *cursor, rng), std::nullopt);
    picker->adopt(*cursor);
    ++hits[*picker->pick(rig.input(), *cursor, rng)];
  }
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_NEAR(hits[i] / 1e6, rig.share(kind, i), kind.share_bound);
}

}  // namespace
}  // namespace steelyard::pick
