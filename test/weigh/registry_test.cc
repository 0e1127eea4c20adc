// Loops over every controller: what all of them must keep to.
#include "steelyard/weigh/registry.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "steelyard/base/rng.h"

#include "test/weigh/law.h"
#include "test/weigh/scene.h"

namespace steelyard::weigh {
namespace {

TEST(Registry, NamesAreUniqueFoundAndSummarised) {
  std::set<std::string_view> names;
  for (const Kind& kind : kinds()) {
    EXPECT_TRUE(names.insert(kind.name).second) << kind.name;
    EXPECT_EQ(find(kind.name), &kind);
    EXPECT_FALSE(kind.summary.empty());
    EXPECT_EQ(kind.needs.empty(), !kind.make({std::string(kind.name), nullptr})->law().signals)
        << kind.name;
  }
  EXPECT_EQ(find("adaptive"), nullptr);
  EXPECT_EQ(find("nonsense"), nullptr);
  EXPECT_EQ(choices().size(), kinds().size() + 1);
  EXPECT_EQ(choices()[0].name, kAdaptive);
}

TEST(Registry, EveryControllerTakesUnknownForUnknown) {
  for (const Kind& kind : kinds()) {
    Asked law(kind.make({std::string(kind.name), nullptr}));
    for (const Wish& wish : law.ask({1, 2}, {model::Observation{}, model::Observation{}}, at(0))) {
      EXPECT_EQ(wish.known, !law.law->law().signals) << kind.name;
      EXPECT_FALSE(wish.why.empty()) << kind.name;
    }
  }
}

TEST(Registry, EveryControllerWishesForPositiveFiniteWeightsOrSaysItDoesNotKnow) {
  constexpr std::uint64_t kSeed = 20240611;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  for (const Kind& kind : kinds()) {
    base::Rng rng(kSeed);
    Asked law(kind.make({std::string(kind.name), nullptr}));
    for (int round = 0; round < 2000; ++round) {
      std::vector<model::Observation> seen(4);
      for (auto& node : seen) {
        const base::TimePoint then = at(round);
        if (rng.below(4) != 0) node.score = {rng.unit() * 100, then, 1};
        if (rng.below(4) != 0)
          node.utilisation = {rng.below(3) == 0 ? 0 : rng.unit() * 1.2, then, 1};
        if (rng.below(4) != 0) node.rate = {rng.below(3) == 0 ? 0 : rng.unit() * 1e5, then, 1};
        if (rng.below(4) != 0) node.mean_rate = {rng.below(3) == 0 ? 0 : rng.unit() * 1e5, then, 1};
        if (rng.below(4) != 0) node.error_rate = {rng.unit(), then, 1};
        if (rng.below(4) != 0) node.latency_mean = {base::from_seconds(rng.unit() * 100), then, 1};
        node.report_failed = rng.below(8) == 0;
      }
      for (const Wish& wish : law.ask({1, 0.01, 1e6, 7}, seen, at(round))) {
        if (!wish.known || wish.floor || wish.hold) continue;
        ASSERT_TRUE(std::isfinite(wish.value) && wish.value > 0)
            << kind.name << " " << round << ": " << wish.why;
      }
    }
  }
}

TEST(Registry, SameObservationsSameWishes) {
  for (const Kind& kind : kinds()) {
    Asked a(kind.make({std::string(kind.name), nullptr}));
    Asked b(kind.make({std::string(kind.name), nullptr}));
    base::Rng rng(3);
    for (int round = 0; round < 100; ++round) {
      model::Observation seen;
      seen.score = {rng.unit() * 100, at(round), 1};
      seen.utilisation = {rng.unit(), at(round), 1};
      seen.rate = {rng.unit() * 100, at(round), 1};
      EXPECT_EQ(a.ask({3}, {seen}, at(round))[0].value, b.ask({3}, {seen}, at(round))[0].value)
          << kind.name;
    }
  }
}

}  // namespace
}  // namespace steelyard::weigh
