// Trouble that other balancers had, at the level of the pickers. Each test is named after its case.
#include <algorithm>
#include <gtest/gtest.h>

#include "test/pick/rig.h"

namespace steelyard::pick {
namespace {

using Hits = std::vector<int>;

struct Workers {
  Workers(const Picker& picker, std::size_t count, base::Rng& rng) {
    for (std::size_t i = 0; i < count; ++i) cursors.push_back(picker.make_cursor(rng));
  }
  void adopt(const Picker& picker) {
    for (const auto& cursor : cursors) picker.adopt(*cursor);
  }
  std::vector<std::unique_ptr<Cursor>> cursors;
};

// `picks` requests, one worker after the other.
Hits run(const Rig& rig, const Picker& picker, Workers& workers, base::Rng& rng, int picks) {
  Hits hits(rig.upstream.nodes.size(), 0);
  for (int i = 0; i < picks; ++i) {
    ++hits[*picker.pick(
        rig.input(), *workers.cursors[static_cast<std::size_t>(i) % workers.cursors.size()], rng)];
  }
  return hits;
}

class Cases : public testing::TestWithParam<const Kind*> {
 protected:
  const Kind& kind = *GetParam();
  base::Rng rng{51};
};
std::vector<const Kind*> chosen(bool (*want)(const Kind&)) {
  std::vector<const Kind*> out;
  for (const Kind& kind : kinds()) {
    if (want(kind)) out.push_back(&kind);
  }
  return out;
}
const auto name_of = [](const auto& row) { return std::string(row.param->name); };
INSTANTIATE_TEST_SUITE_P(AllPickers, Cases,
                         testing::ValuesIn(chosen([](const Kind&) { return true; })), name_of);

class WeightedCases : public Cases {};
INSTANTIATE_TEST_SUITE_P(WeightedPickers, WeightedCases,
                         testing::ValuesIn(chosen([](const Kind& kind) { return kind.weighted; })),
                         name_of);

class SmoothCases : public Cases {};
INSTANTIATE_TEST_SUITE_P(SmoothPickers, SmoothCases, testing::ValuesIn(chosen([](const Kind& kind) {
                           return kind.weighted && exact(kind);
                         })),
                         name_of);

TEST_P(Cases, WGT_01_WeightZeroGetsNoPicks) {
  for (const std::size_t count : {1U, 8U}) {
    for (const bool panic : {false, true}) {
      Rig rig{0, 100, 100};
      rig.upstream.panic = panic;
      const auto picker = kind.make(rig.upstream);
      Workers workers(*picker, count, rng);
      const auto hits = run(rig, *picker, workers, rng, 2000);
      EXPECT_EQ(hits[0], 0);
      EXPECT_NEAR(hits[1], 1000, exact(kind) ? static_cast<int>(count) : 115);
    }
  }
}

TEST_P(Cases, WGT_01_LoweredToZeroGetsNoPicksFromTheNextTableOn) {
  Rig rig{100, 100, 100};
  auto picker = kind.make(rig.upstream);
  Workers workers(*picker, 8, rng);
  run(rig, *picker, workers, rng, 100);
  rig.upstream.nodes[0].weight = 0;
  picker = kind.make(rig.upstream);
  workers.adopt(*picker);
  EXPECT_EQ(run(rig, *picker, workers, rng, 2000)[0], 0);
}

TEST_P(WeightedCases, WGT_06_FirstPickFollowsTheWeights) {
  const Rig rig{3, 1};
  int a = 0;
  for (int i = 0; i < 400; ++i) {
    const auto picker = kind.make(rig.upstream);  // rebuilt each time
    a += *picker->pick(rig.input(), *picker->make_cursor(rng), rng) == 0;
  }
  EXPECT_NEAR(a / 400.0, 0.75, 0.07);
}

TEST_P(WeightedCases, WGT_06_FirstPicksFollowAnyWeights) {
  const std::vector<std::vector<double>> rows{
      {99, 1},         {5, 1, 1, 1, 1}, {100, 50, 25, 7, 3}, {83, 1, 93, 2, 43},
      {0.3, 0.9, 0.1}, {1e6, 1e5, 3}};
  constexpr int kCursors = 10'000;
  for (const auto& weights : rows) {
    const Rig rig(weights);
    const auto picker = kind.make(rig.upstream);
    Hits hits(weights.size(), 0);
    for (int i = 0; i < kCursors; ++i)
      ++hits[*picker->pick(rig.input(), *picker->make_cursor(rng), rng)];
    for (std::size_t i = 0; i < weights.size(); ++i) {
      const double p = rig.share(kind, i);
      EXPECT_NEAR(hits[i], p * kCursors, 4.5 * std::sqrt(p * (1 - p) * kCursors) + 1)
          << weights[0] << " node " << i;
    }
  }
}

// Also when the nodes come by discovery, after the workers' cursors were made.
TEST_P(WeightedCases, WGT_06_FirstPickFollowsTheWeightsWhenNodesComeLater) {
  const Rig rig{3, 1};
  const auto empty = kind.make(rig.ordered({}));
  const auto picker = kind.make(rig.upstream);
  int a = 0;
  for (int i = 0; i < 4000; ++i) {
    const auto cursor = empty->make_cursor(rng);
    picker->adopt(*cursor);
    a += *picker->pick(rig.input(), *cursor, rng) == 0;
  }
  EXPECT_NEAR(a / 4000.0, 0.75, 0.035);
}

TEST_P(SmoothCases, WGT_07_NoBursts) {
  struct Row {
    std::vector<double> weights;
    int picks;
    Hits counts;
    std::size_t longest;
  };
  const std::vector<Row> rows{
      {{11, 3}, 28, {22, 6}, 4}, {{21, 11}, 64, {42, 22}, 2}, {{5, 1, 1}, 14, {10, 2, 2}, 4}};
  for (const auto& row : rows) {
    const Rig rig(row.weights);
    const auto picker = kind.make(rig.upstream);
    for (int phase = 0; phase < 200; ++phase) {
      const auto cursor = picker->make_cursor(rng);
      const auto seen = letters(*picker, rig.input(), *cursor, rng, row.picks);
      Hits counts(row.weights.size(), 0);
      for (const char at : seen) ++counts[static_cast<std::size_t>(at - 'a')];
      ASSERT_EQ(counts, row.counts) << seen;
      ASSERT_LE(longest_run(seen), row.longest) << seen;
    }
  }
}

TEST_P(SmoothCases, WGT_07_FiveOneOneIsARotationOfTheSmoothSequence) {
  const Rig rig{5, 1, 1};
  const auto picker = kind.make(rig.upstream);
  const std::string twice = "aabacaaaabacaa";
  for (int phase = 0; phase < 100; ++phase) {
    const auto seen = letters(*picker, rig.input(), *picker->make_cursor(rng), rng, 7);
    EXPECT_NE(twice.find(seen), std::string::npos) << seen;
  }
}

TEST_P(WeightedCases, WGT_11_AWeightOnlyChangeTakesEffectAtOnceBothWays) {
  for (const std::size_t count : {1U, 4U}) {
    Rig rig{1, 1};
    auto picker = kind.make(rig.upstream);
    Workers workers(*picker, count, rng);
    const int picks = exact(kind) ? 100 : 10'000;
    for (const double weight : {1.0, 9.0, 1.0}) {
      rig.upstream.nodes[0].weight = weight;
      picker = kind.make(rig.upstream);
      workers.adopt(*picker);
      const auto hits = run(rig, *picker, workers, rng, picks);
      const double p = weight / (weight + 1);
      const double slack =
          4 * unevenness(kind) * (1 - p) * picks +
          (exact(kind) ? 1.5 * static_cast<double>(count) : 5 * std::sqrt(p * (1 - p) * picks));
      EXPECT_NEAR(hits[0], p * picks, slack) << "weight " << weight << ", workers " << count;
    }
  }
}

TEST_P(Cases, WGT_14_WorkersAreOutOfStep) {
  const Rig rig(std::vector<double>(10, 1.0));
  const auto picker = kind.make(rig.upstream);
  for (int reload = 0; reload <= 5; ++reload) {
    Workers workers(*picker, 16, rng);
    Hits hits(10, 0);
    std::vector<Index> sequence;
    for (int i = 0; i < 160; ++i) {  // the kernel gives a connection to any worker
      const auto at = *picker->pick(rig.input(), *workers.cursors[rng.below(16)], rng);
      ++hits[at];
      sequence.push_back(at);
    }
    for (const int hit : hits) {
      EXPECT_GE(hit, exact(kind) ? 6 : 1);
      EXPECT_LE(hit, exact(kind) ? 26 : 36);
    }
    for (std::size_t from = 0; from + 50 <= sequence.size(); ++from) {
      for (Index node = 0; node < 10; ++node) {
        const auto first = sequence.begin() + static_cast<std::ptrdiff_t>(from);
        ASSERT_LE(std::count(first, first + 50, node), 20);
      }
    }
  }
}

// Right after a start each worker makes its first pick: sixteen workers, ten nodes, no crowd on one
// of them.
TEST_P(Cases, WGT_14_FirstPicksOfTheWorkersSpread) {
  const Rig rig(std::vector<double>(10, 1.0));
  const auto empty = kind.make(rig.ordered({}));
  const auto one = kind.make(rig.ordered({0}));
  const auto picker = kind.make(rig.upstream);
  for (const auto* before : {empty.get(), one.get(),
                             picker.get()}) {  // nodes there from the start, or grown to ten later
    Workers workers(*before, 160, rng);
    workers.adopt(*picker);
    const auto hits = run(rig, *picker, workers, rng, 160);
    EXPECT_LE(*std::max_element(hits.begin(), hits.end()), 40);
    EXPECT_GE(*std::min_element(hits.begin(), hits.end()), 1);
  }
}

}  // namespace
}  // namespace steelyard::pick
