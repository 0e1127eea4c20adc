// Random upstreams, reports, measurements, ejections and silences, for every controller: what must
// hold after every step.
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "steelyard/base/rng.h"
#include "steelyard/weigh/registry.h"

#include "test/weigh/scene.h"

namespace steelyard::weigh {
namespace {

std::vector<double> random_bases(base::Rng& rng) {
  std::vector<double> bases;
  const std::uint64_t count = 1 + rng.below(12);
  for (std::uint64_t i = 0; i < count; ++i) {
    bases.push_back(rng.below(3) == 0 ? std::pow(10, rng.unit() * 6)
                                      : static_cast<double>(1 + rng.below(10)));
  }
  return bases;
}

Options random_options(base::Rng& rng, std::string_view law) {
  Options options = with(std::string(law));
  if (rng.below(2) == 0) options.floor = 0.01 + rng.unit() * 3;
  if (rng.below(2) == 0) options.threshold = rng.unit() * 0.5;
  if (rng.below(2) == 0) options.cooldown = base::from_seconds(rng.unit() * 10);
  if (rng.below(3) == 0) options.cap = 0.01 + rng.unit() * 0.99;
  if (rng.below(3) == 0)
    options.step = {.up = 1.01 + rng.unit() * 10, .down = 1.01 + rng.unit() * 10};
  return options;
}

void shake(Scene& scene, base::Rng& rng) {
  for (std::size_t i = 0; i < scene.size(); ++i) {
    switch (rng.below(12)) {
      case 0:
        scene.report_refused(i);
        break;
      case 1:
        scene.report_nothing(i);
        break;
      case 2:
        scene.seen[i].score.reset();
        scene.seen[i].utilisation.reset();
        break;
      case 3:
        scene.in_service[i] = static_cast<char>(rng.below(4) != 0);
        break;
      case 4:
        scene.report_utilisation(i, rng.below(2) == 0 ? 1e-9 : rng.unit());
        break;
      case 5:
        scene.report_utilisation(i, rng.unit());
        break;
      case 6:
        scene.measure_errors(i, rng.unit());
        break;
      case 7:
        scene.measure_latency(i, base::from_seconds(rng.unit()));
        break;
      case 8:
        scene.measure_rate(i, rng.unit() * 1e6);
        break;
      default:
        scene.report_score(i, rng.unit() * 100);
    }
  }
}

void expect_bounds(const Scene& scene, const Limits& limits, bool law_moves) {
  double base = 0;
  double sum = 0;
  std::size_t usable = 0;
  for (std::size_t i = 0; i < scene.size(); ++i) {
    ASSERT_TRUE(std::isfinite(scene.out[i].control) && scene.out[i].control > 0);
    ASSERT_TRUE(std::isfinite(scene.out[i].wanted) && scene.out[i].wanted > 0);
    if (!scene.in_service[i]) continue;
    ++usable;
    base += scene.base(i);
    sum += scene.weight(i);
  }
  double shares = 0;
  for (std::size_t i = 0; i < scene.size(); ++i) {
    if (!scene.in_service[i]) continue;
    const double share = scene.weight(i) / sum;
    shares += share;
    ASSERT_GE(scene.weight(i), limits.floor_of(scene.base(i)) * (1 - 1e-9));
    if (usable < 3 || !law_moves) continue;
    const double fair = scene.base(i) / base;
    ASSERT_LE(share, std::max(fair, std::min(limits.cap, 2 * fair)) * (1 + 1e-9));
  }
  if (usable > 0) {
    ASSERT_NEAR(shares, 1, 1e-9);
  }
}

TEST(Property, WeightsStayPositiveFiniteWithinFloorAndCapWhateverIsReported) {
  std::vector<std::string_view> laws{kAdaptive};
  for (const Kind& kind : kinds()) laws.push_back(kind.name);
  for (const std::string_view law : laws) {
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
      SCOPED_TRACE(std::string(law) + " seed " + std::to_string(seed));
      base::Rng rng(seed);
      Weigher weigher(random_options(rng, law), rng.below(2) == 0);
      Scene scene(random_bases(rng));
      for (int t = 0; t < 150; ++t) {
        shake(scene, rng);
        scene.step(weigher);
        expect_bounds(scene, weigher.limits(), true);
        if (testing::Test::HasFatalFailure()) return;
        scene.pass(rng.unit() * 2);
      }
    }
  }
}

// One node's move in one step, before floor and cap of the others, is never more than the step
// limits.
TEST(Property, NoStepIsLargerThanItsLimits) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    base::Rng rng(seed);
    Weigher weigher(with(seed % 2 == 0 ? "score_map" : "cpu_target"));
    Scene scene(random_bases(rng));
    scene.step(weigher);
    for (int t = 0; t < 150; ++t) {
      std::vector<double> before;
      for (const NodeOutcome& node : scene.out) before.push_back(node.control);
      shake(scene, rng);
      scene.step(weigher);
      for (std::size_t i = 0; i < scene.size(); ++i) {
        const model::StageValue* step = scene.stage(i, "step");
        if (step == nullptr || !scene.in_service[i]) continue;
        const double start = before[i] * scene.base(i);
        if (scene.out[i].stages.front().value > 0 && t > 0) {
          EXPECT_LE(step->value, start * 1.5 * (1 + 1e-9)) << i;
          EXPECT_GE(step->value, start / 2 * (1 - 1e-9)) << i;
        }
      }
      scene.pass(rng.unit() * 2);
    }
  }
}

TEST(Property, SameInputsSameWeights) {
  for (const std::uint64_t seed : {7U, 8U, 9U}) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::vector<double> runs[2];
    for (auto& run : runs) {
      base::Rng rng(seed);
      Weigher weigher(with("capacity"));
      Scene scene(random_bases(rng));
      for (int t = 0; t < 200; ++t) {
        shake(scene, rng);
        scene.step(weigher);
        for (const NodeOutcome& node : scene.out) run.push_back(node.control);
        scene.pass(1);
      }
    }
    EXPECT_EQ(runs[0], runs[1]);
  }
}

}  // namespace
}  // namespace steelyard::weigh
