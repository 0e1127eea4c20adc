#include "steelyard/pick/smooth_weighted_round_robin.h"

#include <gtest/gtest.h>
#include <numeric>

#include "test/pick/rig.h"

namespace steelyard::pick {
namespace {

std::string textbook(const Rig& rig, int picks) {
  const SmoothWeightedRoundRobin picker(rig.upstream);
  const auto cursor = SmoothWeightedRoundRobin::cursor_at(0);
  picker.adopt(*cursor);
  base::Rng rng(1);
  return letters(picker, rig.input(), *cursor, rng, picks);
}

TEST(SmoothWeightedRoundRobin, GivesTheKnownSequences) {
  struct Row {
    std::vector<double> weights;
    std::string period;
    std::size_t run;
  };
  const std::vector<Row> rows{
      {{5, 1, 1}, "aabacaa", 4},    {{5, 1}, "aaabaa", 5},
      {{4, 2, 1}, "abacaba", 2},    {{3, 2, 1}, "abacba", 2},
      {{3, 3, 2}, "abcabcab", 1},   {{8, 4, 1}, "abaabacabaaba", 2},
      {{10, 1}, "aaaaabaaaaa", 10}, {{8, 8, 4, 4, 2}, "abcdabeabcdababcdabeabcdab", 1}};
  for (const auto& row : rows) {
    const Rig rig(row.weights);
    EXPECT_EQ(textbook(rig, static_cast<int>(row.period.size())), row.period);
    EXPECT_EQ(textbook(rig, 3 * static_cast<int>(row.period.size())),
              row.period + row.period + row.period);
    EXPECT_EQ(longest_run(row.period), row.run) << row.period;
  }
}

TEST(SmoothWeightedRoundRobin, TheScaleOfTheWeightsDoesNotMatter) {
  for (const double scale : {0x1p-30, 0.125, 0.1, 1.0 / 3, 7.0, 1e6}) {
    const Rig rig{5 * scale, 1 * scale, 1 * scale};
    EXPECT_EQ(textbook(rig, 14), "aabacaaaabacaa") << scale;
  }
}

TEST(SmoothWeightedRoundRobin, ATriedNodeKeepsItsCredit) {
  const Rig rig{1, 1, 1};
  const SmoothWeightedRoundRobin picker(rig.upstream);
  const auto cursor = SmoothWeightedRoundRobin::cursor_at(0);
  picker.adopt(*cursor);
  base::Rng rng(1);
  const std::vector<model::NodeRef> tried{rig.upstream.nodes[0].ref};
  EXPECT_EQ(letters(picker, rig.input(tried), *cursor, rng, 4), "bcbc");
  EXPECT_EQ(letters(picker, rig.input(), *cursor, rng, 6), "abcabc");
}

TEST(SmoothWeightedRoundRobin, GoesOnMidPeriodInANewTable) {
  Rig rig{5, 1, 1};
  const auto cursor = SmoothWeightedRoundRobin::cursor_at(0);
  base::Rng rng(1);
  std::string seen;
  for (int i = 0; i < 14; ++i) {
    const SmoothWeightedRoundRobin picker(rig.upstream);
    picker.adopt(*cursor);
    seen += letters(picker, rig.input(), *cursor, rng, 1);
    for (auto& node : rig.upstream.nodes) node.weight *= 4;  // the same shares in another unit
  }
  EXPECT_EQ(seen, "aabacaaaabacaa");
}

struct Credits {
  explicit Credits(const Rig& rig, std::uint64_t phase)
      : candidates(Candidates::of(rig.upstream)), rotation(candidates), credits(phase) {
    rotation.adopt(credits);
    among.resize(candidates.size());
    std::iota(among.begin(), among.end(), Position{0});
  }
  [[nodiscard]] std::int64_t sum() const {
    return std::accumulate(credits.credit.begin(), credits.credit.end(), std::int64_t{0});
  }
  Candidates candidates;
  SmoothRotation rotation;
  SmoothCredits credits;
  std::vector<Position> among;
};

TEST(SmoothRotation, CreditsAreWhatIsOwedAndSumToZeroAfterEveryStep) {
  const Rig rig{0.1, 0.7, 1.0 / 3, 12, 1'000'000};
  Credits c(rig, 0);
  std::vector<std::int64_t> picks(5, 0);
  for (std::int64_t t = 1; t <= 200'000; ++t) {
    ++picks[c.rotation.step(c.among, c.credits)];
    ASSERT_EQ(c.sum(), 0);
  }
  __extension__ using i128 = __int128;
  for (std::size_t i = 0; i < 5; ++i) {
    const auto owed = static_cast<i128>(200'000) * c.candidates.weight[i] -
                      static_cast<i128>(c.candidates.total) * picks[i];
    EXPECT_EQ(static_cast<std::int64_t>(owed), c.credits.credit[i]);
  }
}

TEST(SmoothRotation, AfterOnePeriodAllIsPaid) {
  const Rig rig{11, 3, 21, 7};
  Credits c(rig, 0);
  for (int t = 0; t < 42; ++t) c.rotation.step(c.among, c.credits);
  EXPECT_EQ(c.credits.credit, (std::vector<std::int64_t>(4, 0)));
}

TEST(SmoothRotation, DeviatesByLessThanTwoPicksFromAnyPhase) {
  base::Rng rng(5);
  for (int round = 0; round < 200; ++round) {
    std::vector<double> weights(2 + rng.below(7));
    for (double& weight : weights) weight = static_cast<double>(1 + rng.below(100));
    const Rig rig(weights);
    Credits c(rig, rng());
    ASSERT_EQ(c.sum(), 0);
    std::vector<double> picks(weights.size(), 0);
    for (int t = 1; t <= 500; ++t) {
      ++picks[c.rotation.step(c.among, c.credits)];
      for (std::size_t i = 0; i < weights.size(); ++i)
        ASSERT_LT(std::abs(picks[i] - t * rig.share(kinds()[1], i)), 2);
    }
  }
}

TEST(SmoothRotation, EveryWindowOfOnePeriodIsExactFromAnyPhase) {
  base::Rng rng(7);
  for (int round = 0; round < 300; ++round) {
    std::vector<double> weights(2 + rng.below(5));
    for (double& weight : weights) weight = static_cast<double>(1 + rng.below(20));
    const auto period = std::accumulate(weights.begin(), weights.end(), 0.0);
    const Rig rig(weights);
    Credits c(rig, rng());
    for (int window = 0; window < 3; ++window) {
      std::vector<double> picks(weights.size(), 0);
      for (int t = 0; t < period; ++t) ++picks[c.rotation.step(c.among, c.credits)];
      ASSERT_EQ(picks, weights);
    }
  }
}

TEST(SmoothRotation, StaysInBoundsOverRandomTablesAndExclusions) {
  base::Rng rng(6);
  Rig rig({1, 1, 1}, 64);
  SmoothCredits credits(rng());
  for (int round = 0; round < 20'000; ++round) {
    if (rng.below(2) == 0 && rig.upstream.nodes.size() < 20) rig.add(1);
    if (rng.below(2) == 0 && rig.upstream.nodes.size() > 1) {
      const auto at = rng.below(rig.upstream.nodes.size());
      rig.slots.release(rig.upstream.nodes[at].ref);
      rig.upstream.nodes.erase(rig.upstream.nodes.begin() + static_cast<std::ptrdiff_t>(at));
    }
    for (auto& node : rig.upstream.nodes) node.weight = std::pow(10, rng.unit() * 6);
    const auto candidates = Candidates::of(rig.upstream);
    const SmoothRotation rotation(candidates);
    rotation.adopt(credits);
    std::int64_t sum = 0;
    for (const auto credit : credits.credit) {
      ASSERT_LT(std::abs(credit), 64 * credits.total);
      sum += credit;
    }
    ASSERT_EQ(sum, 0);
    for (int i = 0; i < 5; ++i) {
      std::vector<Position> among;
      for (Position at = 0; at < candidates.size(); ++at) {
        if (rng.below(3) != 0) among.push_back(at);
      }
      if (!among.empty()) rotation.step(among, credits);
    }
  }
}

}  // namespace
}  // namespace steelyard::pick
