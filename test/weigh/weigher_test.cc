#include "steelyard/weigh/weigher.h"

#include <array>
#include <cmath>
#include <gtest/gtest.h>
#include <memory>
#include <string_view>
#include <vector>

#include "steelyard/weigh/capacity.h"
#include "steelyard/weigh/gain.h"

#include "test/weigh/scene.h"

namespace steelyard::weigh {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

void report_all(Scene& scene, double score) {
  for (std::size_t i = 0; i < scene.size(); ++i) scene.report_score(i, score);
}

TEST(Weigher, StartsAtTheBaseWeightsAndChangesNothingWithoutASignal) {
  Weigher weigher(with("score_map"));
  Scene scene({4, 3, 2});
  for (int i = 0; i < 100; ++i) {
    scene.step(weigher);
    scene.pass(0.1);
    for (const NodeOutcome& node : scene.out) {
      EXPECT_EQ(node.control, 1);
      EXPECT_FALSE(node.stepped || node.changed || node.suppressed);
      EXPECT_TRUE(node.stages.empty());
    }
  }
  EXPECT_FALSE(weigher.frozen());
}

TEST(Weigher, TicksAloneMoveNothing) {
  Weigher weigher(free_of_limits("score_map"));
  Scene scene({4, 3, 2});
  report_all(scene, 100);
  scene.report_score(0, 72);
  scene.step(weigher);
  EXPECT_TRUE(scene.out[0].stepped && scene.out[0].changed);
  const double once = scene.out[0].control;
  EXPECT_LT(once, 1);
  for (int i = 0; i < 9; ++i) {
    scene.pass(0.1);
    scene.step(weigher);
    EXPECT_EQ(scene.out[0].control, once);
    EXPECT_FALSE(scene.out[0].stepped);
  }
  scene.report_score(0, 72);
  scene.step(weigher);
  EXPECT_LT(scene.out[0].control, once);
}

TEST(Weigher, OnlyTheNodeWithANewSampleSteps) {
  Weigher weigher(with("score_map"));
  Scene scene({1, 1, 1});
  report_all(scene, 60);
  scene.step(weigher);
  scene.pass(1);
  scene.report_score(1, 60);
  scene.step(weigher);
  EXPECT_FALSE(scene.out[0].stepped);
  EXPECT_TRUE(scene.out[1].stepped);
}

TEST(Weigher, ADecisionCarriesEveryStageInOrder) {
  Weigher weigher(with("score_map"));
  Scene scene({10, 10, 10});
  report_all(scene, 100);
  scene.report_score(0, 35);
  scene.step(weigher);
  const NodeOutcome& node = scene.out[0];
  constexpr std::array<std::string_view, 7> kOrder{"controller", "trust", "threshold", "step",
                                                   "cooldown",   "floor", "cap"};
  ASSERT_EQ(node.stages.size(), kOrder.size());
  for (std::size_t i = 0; i < kOrder.size(); ++i) EXPECT_EQ(node.stages[i].stage, kOrder[i]);
  EXPECT_DOUBLE_EQ(node.wanted, 2);
  EXPECT_DOUBLE_EQ(node.stages[0].value, 2);
  EXPECT_DOUBLE_EQ(node.stages[3].value, 5);
  EXPECT_DOUBLE_EQ(node.stages[6].value, 5);
  EXPECT_TRUE(node.stages[0].bit && node.stages[3].bit);
  EXPECT_EQ(node.reason, "score 35 → 2 of 10: weight 10 → 5 (limited to ÷2)");
  EXPECT_EQ(scene.out[1].reason, "score 100 → 10 of 10: stays at 10");
}

TEST(Weigher, AnIllNodeIsHalvedWithinFiveSamplesAndComesBackInBoundedSteps) {
  Weigher weigher(with("score_map"));
  Scene scene({8, 8, 4, 4, 2});
  std::vector<double> last5(5, 100);
  const auto sample = [&](double score) {  // the rolling mean of 5, as sense makes it
    last5.erase(last5.begin());
    last5.push_back(score);
    double sum = 0;
    for (const double s : last5) sum += s;
    for (std::size_t i = 1; i < 5; ++i) scene.report_score(i, 100);
    scene.report_score(0, sum / 5);
    scene.step(weigher);
    scene.pass(1);
  };
  for (int i = 0; i < 5; ++i) sample(100);
  const double before = scene.share(0);
  int halved = 0;
  for (int i = 1; i <= 15; ++i) {
    sample(20);
    if (halved == 0 && scene.share(0) <= before / 2) halved = i;
  }
  EXPECT_GT(halved, 0);
  EXPECT_LE(halved, 5);
  EXPECT_NEAR(scene.out[0].control, 0.1, 0.02);
  double last = scene.out[0].control;
  int back = 0;
  for (int i = 1; i <= 60; ++i) {
    sample(100);
    EXPECT_LE(scene.out[0].control, last * 1.5 * (1 + 1e-12)) << i;
    EXPECT_GE(scene.out[0].control, last) << i;
    last = scene.out[0].control;
    if (back == 0 && last > 0.9) back = i;
  }
  EXPECT_GT(back, 5);
  EXPECT_LT(back, 25);
  EXPECT_NEAR(last, 1, 0.021);
}

TEST(Weigher, ReloadTargetsHaveAWideThresholdAndACooldown) {
  EXPECT_DOUBLE_EQ(Weigher(Options{}).limits().threshold, 0.02);
  EXPECT_EQ(Weigher(Options{}).limits().cooldown, base::Duration{0});
  EXPECT_DOUBLE_EQ(Weigher(Options{}, true).limits().threshold, 0.2);
  EXPECT_EQ(Weigher(Options{}, true).limits().cooldown, base::Duration(seconds(30)));
  Options set;
  set.threshold = 0;
  set.cooldown = base::Duration(seconds(7));
  EXPECT_DOUBLE_EQ(Weigher(set, true).limits().threshold, 0);
  EXPECT_EQ(Weigher(set, true).limits().cooldown, base::Duration(seconds(7)));
}

TEST(Weigher, SaysWhyItHeldBack) {
  Weigher weigher(with("score_map"), true);
  Scene scene({10, 10, 10});
  report_all(scene, 100);
  scene.step(weigher);
  scene.pass(10);
  report_all(scene, 100);
  scene.report_score(0, 90);  // wants 8: 20 % off, not below the threshold
  scene.report_score(1, 72);
  scene.step(weigher);
  EXPECT_TRUE(scene.out[0].changed);
  EXPECT_TRUE(scene.out[1].changed);
  scene.pass(10);
  scene.report_score(0, 90);
  scene.report_score(1, 72);
  scene.step(weigher);
  EXPECT_TRUE(scene.out[0].suppressed);
  EXPECT_FALSE(scene.out[0].changed);
  EXPECT_NE(scene.out[0].reason.find("below the threshold of 20 %"), std::string::npos)
      << scene.out[0].reason;
  EXPECT_NE(scene.out[0].reason.find("score 90 → 8 of 10: wants 8, stays at"), std::string::npos);
  EXPECT_TRUE(scene.out[1].suppressed);
  EXPECT_NE(scene.out[1].reason.find("changed 10 s ago, cooldown 30 s"), std::string::npos)
      << scene.out[1].reason;
  scene.pass(20);
  scene.report_score(1, 72);
  scene.step(weigher);
  EXPECT_TRUE(scene.out[1].changed) << scene.out[1].reason;
}

TEST(Weigher, ADropOfHalfSkipsThresholdAndCooldown) {
  Weigher weigher(with("score_map"), true);
  Scene scene({10, 10, 10});
  report_all(scene, 72);
  scene.step(weigher);
  ASSERT_TRUE(scene.out[0].changed);
  const double before = scene.out[0].control;
  scene.pass(1);
  scene.report_score(0, 5);
  scene.step(weigher);
  EXPECT_NEAR(scene.out[0].control, before / 2, 1e-12);
}

TEST(Weigher, ARefusedReportGoesToTheFloorByHalves) {
  Weigher weigher(with("score_map"));
  Scene scene({4, 4, 4, 4, 4});
  report_all(scene, 100);
  scene.step(weigher);
  std::vector<double> controls;
  for (int i = 0; i < 6; ++i) {
    scene.pass(1);
    scene.report_refused(0);
    scene.step(weigher);
    controls.push_back(scene.out[0].control);
  }
  EXPECT_DOUBLE_EQ(controls[0], 0.5);
  EXPECT_DOUBLE_EQ(controls[1], 0.25);
  EXPECT_DOUBLE_EQ(controls[2], 0.125);
  EXPECT_LT(controls[5], controls[2]);
  EXPECT_GE(controls[5], 0.1);
}

TEST(Weigher, AFloorInBaseUnitsHoldsButNeverLiftsANode) {
  Options options = with("score_map");
  options.floor = 1;
  Weigher weigher(options);
  Scene scene({4, 0.5, 4, 4, 4});
  report_all(scene, 100);
  for (int i = 0; i < 20; ++i) {
    scene.report_score(0, 5);
    scene.report_score(1, 5);
    scene.step(weigher);
    scene.pass(1);
  }
  EXPECT_NEAR(scene.weight(0), 1, 0.03);
  EXPECT_GE(scene.weight(0), 1);
  EXPECT_DOUBLE_EQ(scene.weight(1), 0.5);
}

// Two healthy nodes of three may take 40 % each, so the third cannot fall below 20 %; it is said.
TEST(Weigher, OfThreeNodesAnIllOneKeepsWhatTheCapsOfTheOthersLeave) {
  Weigher weigher(with("score_map"));
  Scene scene({4, 4, 4});
  for (int i = 0; i < 30; ++i) {
    report_all(scene, 100);
    scene.report_score(0, 5);
    scene.step(weigher);
    scene.pass(1);
  }
  EXPECT_NEAR(scene.share(0), 0.2, 1e-9);
  EXPECT_NEAR(scene.weight(1), 4, 1e-9);
  EXPECT_TRUE(scene.out[0].suppressed);
  EXPECT_EQ(scene.out[0].reason,
            "score 5 → 1 of 10: wants 0.4, stays at 2 (limited to ÷2; raised, since others are at "
            "their caps)");
}

TEST(Weigher, ANodeWithoutASignalGetsTheMeanNeverZeroNeverAWin) {
  Weigher weigher(with("score_map"));
  Scene scene({1, 1, 1, 1});
  for (int i = 0; i < 60; ++i) {
    for (std::size_t n = 0; n < 3; ++n) scene.report_score(n, 52);
    scene.report_nothing(3);
    scene.step(weigher);
    scene.pass(1);
  }
  EXPECT_NEAR(scene.share(3), 0.25, 0.01);
  EXPECT_NE(scene.out[3].reason.find("no score known: the mean of its siblings"), std::string::npos)
      << scene.out[3].reason;
}

TEST(Weigher, ASilentNodeGoesToTheMeanToo) {
  Weigher weigher(with("score_map"));
  Scene scene({1, 1, 1, 1});
  const auto run = [&](int samples, bool fourth) {
    for (int i = 0; i < samples; ++i) {
      for (std::size_t n = 0; n < 3; ++n) scene.report_score(n, 100);
      if (fourth) scene.report_score(3, 10);
      for (int tick = 0; tick < 10; ++tick) {
        scene.step(weigher);
        scene.pass(0.1);
      }
    }
  };
  run(30, true);
  EXPECT_LT(scene.share(3), 0.05);
  scene.seen[3].score.reset();  // expired
  run(60, false);
  EXPECT_NEAR(scene.share(3), 0.25, 0.01);
}

TEST(Weigher, ANodeThatNeverReportedFollowsItsSiblings) {
  Weigher weigher(with("score_map"));
  Scene scene({1, 1, 1, 1});
  for (int i = 0; i < 80; ++i) {
    for (std::size_t n = 0; n < 3; ++n) scene.report_score(n, 35);
    for (int tick = 0; tick < 10; ++tick) {
      scene.step(weigher);
      scene.pass(0.1);
    }
  }
  EXPECT_NEAR(scene.share(3), 0.25, 0.01);
}

TEST(Weigher, FreezesTheLastGoodWeightsWhenAllSignalsAreStale) {
  Weigher weigher(with("score_map"));
  Scene scene({1, 1, 1, 1, 1});
  for (int i = 0; i < 30; ++i) {
    report_all(scene, 100);
    scene.report_score(0, 35);
    scene.step(weigher);
    scene.pass(1);
  }
  const double frozen = scene.out[0].control;
  EXPECT_LT(frozen, 0.25);
  EXPECT_FALSE(weigher.frozen());
  for (auto& seen : scene.seen) seen.score.reset();
  scene.step(weigher);
  EXPECT_TRUE(weigher.frozen());
  for (const NodeOutcome& node : scene.out) {
    EXPECT_EQ(node.reason, "no signal is known from any node: the last good weights are frozen");
  }
  for (int i = 0; i < 1000; ++i) {
    scene.pass(0.1);
    scene.step(weigher);
    ASSERT_EQ(scene.out[0].control, frozen);
    ASSERT_TRUE(scene.out[0].reason.empty());  // said once
  }
  report_all(scene, 100);
  scene.step(weigher);
  EXPECT_FALSE(weigher.frozen());
  EXPECT_GT(scene.out[0].control, frozen);
}

TEST(Weigher, RefusedByAllIsSilenceOfAll) {
  Weigher weigher(with("score_map"));
  Scene scene({1, 1, 1});
  report_all(scene, 100);
  scene.report_score(0, 72);
  scene.step(weigher);
  const double before = scene.out[0].control;
  for (int i = 0; i < 5; ++i) {
    scene.pass(1);
    for (std::size_t n = 0; n < 3; ++n) scene.report_refused(n);
    scene.step(weigher);
  }
  EXPECT_TRUE(weigher.frozen());
  EXPECT_EQ(scene.out[0].control, before);
}

TEST(Weigher, ANewNodeStartsAtTheMeanOfItsSiblings) {
  Weigher weigher(with("score_map"));
  Scene scene({1, 1, 1});
  scene.in_service[2] = 0;
  for (int i = 0; i < 60; ++i) {
    scene.report_score(0, 35);
    scene.report_score(1, 35);
    scene.step(weigher);
    scene.pass(1);
  }
  scene.in_service[2] = 1;
  scene.step(weigher);
  EXPECT_NEAR(scene.share(2), 1.0 / 3, 0.01);
}

TEST(Weigher, OutOfServiceANodeKeepsItsWeightAndTakesNoPart) {
  Weigher weigher(with("score_map"));
  Scene scene({1, 1, 1, 1});
  for (int i = 0; i < 40; ++i) {
    report_all(scene, 100);
    scene.report_score(0, 35);
    scene.step(weigher);
    scene.pass(1);
  }
  const double kept = scene.out[0].control;
  EXPECT_LT(kept, 0.25);
  scene.in_service[0] = 0;
  for (int i = 0; i < 40; ++i) {
    report_all(scene, 100);
    scene.step(weigher);
    scene.pass(1);
    EXPECT_EQ(scene.out[0].control, kept);
    EXPECT_FALSE(scene.out[0].stepped);
  }
  scene.in_service[0] = 1;
  report_all(scene, 100);
  scene.step(weigher);
  EXPECT_GE(scene.out[0].control, kept);
  EXPECT_LE(scene.out[0].control,
            kept * 1.5 * (1 + 1e-12));  // comes back from where it was, in steps
}

TEST(Weigher, RestoredWeightsStandUntilTheFirstSignal) {
  Weigher weigher(Options{});  // adaptive: nothing is known yet
  weigher.restore(Scene::ref(0), 0.2);
  weigher.restore(Scene::ref(1), -1);  // nonsense is not taken
  Scene scene({4, 4, 4});
  for (int i = 0; i < 20; ++i) {
    scene.step(weigher);
    EXPECT_DOUBLE_EQ(scene.out[0].control, 0.2);
    scene.pass(0.1);
  }
  report_all(scene, 100);
  scene.step(weigher);
  EXPECT_GT(scene.out[0].control, 0.2);
  EXPECT_LE(scene.out[0].control, 0.3 * (1 + 1e-12));
}

TEST(Weigher, ForgetStartsANodeAnew) {
  Weigher weigher(with("score_map"));
  Scene scene({1, 1, 1, 1, 1});
  for (int i = 0; i < 40; ++i) {
    report_all(scene, 100);
    scene.report_score(0, 5);
    scene.step(weigher);
    scene.pass(1);
  }
  EXPECT_LT(scene.out[0].control, 0.15);
  weigher.forget(Scene::ref(0));
  scene.seen[0] = {};
  scene.step(weigher);
  EXPECT_DOUBLE_EQ(scene.out[0].control, 1);
}

TEST(Weigher, StaticMeansTheConfiguredWeightsAtOnce) {
  Weigher weigher(with("static"));
  weigher.restore(Scene::ref(0), 0.1);
  Scene scene({4, 3, 2});
  report_all(scene, 5);
  scene.step(weigher);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_DOUBLE_EQ(scene.weight(i), scene.base(i));
  EXPECT_TRUE(scene.out[0].changed);
  EXPECT_EQ(scene.out[0].reason, "static: weight 0.4 → 4");
}

TEST(Weigher, AUselessBaseWeightIsNoNode) {
  Weigher weigher(with("score_map"));
  Scene scene({0, 1, std::nan("")});
  report_all(scene, 35);
  scene.step(weigher);
  EXPECT_FALSE(scene.out[0].stepped || scene.out[2].stepped);
  EXPECT_TRUE(scene.out[1].stepped);
  EXPECT_EQ(scene.out[0].control, 1);
}

TEST(Weigher, AnUnknownUpstreamIsNoTrouble) {
  Weigher weigher(Options{});
  std::vector<NodeOutcome> out(3);
  weigher.step({}, at(0), out);
  EXPECT_TRUE(out.empty());
  const NodeInput blind{.ref = Scene::ref(0), .name = "a"};  // nothing seen
  weigher.step(std::span(&blind, 1), at(0), out);
  EXPECT_EQ(out[0].control, 1);
}

// --- capacity, adaptive ---

void report_capacity(Scene& scene, std::size_t node, double rate, double used) {
  scene.measure_rate(node, rate);
  scene.report_utilisation(node, used);
}

TEST(Weigher, AdaptiveFollowsWhatTheNodesReport) {
  Weigher weigher(Options{});
  Scene scene({1, 1, 1});
  EXPECT_EQ(weigher.controller(), "static");
  scene.step(weigher);
  EXPECT_EQ(weigher.controller(), "static");
  report_all(scene, 100);
  scene.step(weigher);
  EXPECT_EQ(weigher.controller(), "score_map");
  EXPECT_EQ(weigher.controller_why(), "3 of 3 nodes report a score, 0 of 3 nodes a utilisation");
  for (std::size_t i = 0; i < 3; ++i) report_capacity(scene, i, 100, 0.5);
  scene.step(weigher);
  EXPECT_EQ(weigher.controller(), "capacity");
  EXPECT_EQ(weigher.controller_why(), "3 of 3 nodes report utilisation");
  for (auto& seen : scene.seen) seen = {};
  scene.step(weigher);
  EXPECT_EQ(weigher.controller(), "capacity");  // silence is no reason to switch
}

TEST(Weigher, DuringTheBlackoutOfCapacityLearnedWeightsStand) {
  Weigher weigher(Options{});
  weigher.restore(Scene::ref(0), 0.4);
  Scene scene({1, 1, 1});
  for (int i = 0; i < 10; ++i) {
    for (std::size_t n = 0; n < 3; ++n) report_capacity(scene, n, 100, 0.5);
    scene.step(weigher);
    ASSERT_DOUBLE_EQ(scene.out[0].control, 0.4) << i;
    EXPECT_NE(scene.out[0].reason.find("counts after 10 s: keeps its weight"), std::string::npos);
    scene.pass(1);
  }
  EXPECT_FALSE(weigher.frozen());
  for (std::size_t n = 0; n < 3; ++n) report_capacity(scene, n, 100, 0.5);
  scene.step(weigher);
  EXPECT_GT(scene.out[0].control, 0.4);
}

// Five nodes whose base weights are all 1; the first has four times the others' capacity.
TEST(Weigher, CapacityFindsThePartsFromTrafficAndUtilisation) {
  Weigher weigher(with("capacity"));
  Scene scene({1, 1, 1, 1, 1});
  const std::vector<double> capacity{200, 100, 100, 100, 50};
  for (int t = 0; t < 60; ++t) {
    for (std::size_t i = 0; i < 5; ++i) {
      const double rate = t == 0 ? 40 : 200 * scene.share(i);
      report_capacity(scene, i, rate, rate / capacity[i]);
    }
    scene.step(weigher);
    scene.pass(1);
  }
  for (std::size_t i = 0; i < 5; ++i) EXPECT_NEAR(scene.share(i), capacity[i] / 550, 0.005) << i;
}

// --- liars ---

TEST(Weigher, AReportMayLowerFreelyAndRaiseOnlyWhileMeasurementsAgree) {
  Weigher weigher(with("score_map"));
  Scene scene({1, 1, 1, 1, 1});
  for (std::size_t i = 0; i < 5; ++i) {
    scene.measure_errors(i, 0);
    scene.measure_latency(i, milliseconds(50));
  }
  for (int i = 0; i < 30; ++i) {
    report_all(scene, 100);
    scene.report_score(0, 35);
    scene.step(weigher);
    scene.pass(1);
  }
  const double low = scene.out[0].control;
  EXPECT_LT(low, 0.25);
  scene.measure_latency(0, milliseconds(400));
  for (int i = 0; i < 10; ++i) {
    report_all(scene, 100);
    scene.step(weigher);
    scene.pass(1);
    EXPECT_EQ(scene.out[0].control, low);
    EXPECT_TRUE(scene.out[0].suppressed);
  }
  EXPECT_TRUE(scene.stage(0, "trust")->bit);
  EXPECT_EQ(scene.stage(0, "trust")->why,
            "may not gain: its median latency is 400 ms, the upstream's 50 ms");
  scene.report_score(0, 5);
  scene.step(weigher);
  EXPECT_LT(scene.out[0].control, low);
  scene.measure_latency(0, milliseconds(60));
  report_all(scene, 100);
  scene.step(weigher);
  EXPECT_GT(scene.out[0].control, low / 2);
}

TEST(Weigher, FastErrorsNeverAttractTraffic) {
  Options options = with("capacity");
  options.controller.options =
      std::make_shared<CapacityOptions>(CapacityOptions{.blackout = base::Duration{0}});
  Weigher weigher(options);
  Scene scene({1, 1, 1, 1});
  double last = 1;
  for (int i = 0; i < 50; ++i) {
    for (std::size_t n = 0; n < 4; ++n) {
      scene.measure_errors(n, 0);
      scene.measure_latency(n, milliseconds(50));
      report_capacity(scene, n, 100, 0.5);
    }
    scene.measure_errors(0, 0.9);  // answers errors at once, so it looks idle
    scene.measure_latency(0, milliseconds(1));
    report_capacity(scene, 0, 100, 0.02);
    scene.step(weigher);
    EXPECT_LE(scene.out[0].control, last) << i;
    last = scene.out[0].control;
    scene.pass(1);
  }
  EXPECT_LT(scene.share(0), 0.25);
}

TEST(Weigher, ALiarWithoutMeasurementsIsHeldByTheCap) {
  Options options = with("capacity");
  options.controller.options =
      std::make_shared<CapacityOptions>(CapacityOptions{.blackout = base::Duration{0}});
  Weigher weigher(options);
  Scene scene(std::vector<double>(10, 1));
  for (int i = 0; i < 100; ++i) {
    for (std::size_t n = 0; n < 10; ++n) report_capacity(scene, n, 100, n == 0 ? 0.0001 : 0.5);
    scene.step(weigher);
    scene.pass(1);
    EXPECT_LE(scene.share(0), 0.2 + 1e-9);
  }
  EXPECT_NEAR(scene.share(0), 0.2, 1e-6);
  EXPECT_TRUE(scene.stage(0, "cap")->bit);
  EXPECT_EQ(scene.stage(0, "cap")->why, "capped at 20 % of the traffic");
  EXPECT_TRUE(scene.out[0].suppressed);
}

// The part of a wish that is followed falls with the measured age of the signal.
TEST(Weigher, TheGainFollowsTheMeasuredAgeOfTheSignal) {
  for (const int age : {0, 1, 2, 4}) {
    Options options = with("score_map");
    options.smooth.window = 1;
    options.threshold = 0;
    Weigher weigher(options);
    Scene scene({1, 1, 1});
    double before = 1;
    for (int i = 0; i < 40; ++i) {
      const base::TimePoint now = scene.now;
      scene.now -= base::from_seconds(age);
      report_all(scene, 100);
      scene.report_score(0, i < 39 ? 100 : 72);
      scene.now = now;
      before = scene.out.empty() ? 1 : scene.out[0].control;
      scene.step(weigher);
      scene.pass(1);
    }
    EXPECT_NEAR(std::log(scene.out[0].control / before) / std::log(0.6), gain(age, 1), 1e-6) << age;
  }
}

}  // namespace
}  // namespace steelyard::weigh
