// Random schedules of faults, reports, overrides, reloads and time, and what must hold after every
// tick whatever happens.

#include <algorithm>
#include <array>
#include <cmath>
#include <gtest/gtest.h>
#include <map>
#include <set>

#include "steelyard/base/rng.h"
#include "steelyard/model/state.h"

#include "test/control/rig.h"

namespace steelyard::control {
namespace {

// Sanitizers make a schedule ten times as dear; they look for other faults.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int kSchedules = 3000;
#else
constexpr int kSchedules = 20000;
#endif
constexpr int kSteps = 15;
constexpr std::uint64_t kFirstSeed = 1;

struct Before {
  model::NodeRef ref;
  Eligibility eligibility = Eligibility::kUsable;
  double full = 0;  // weight without ramp and panic
};

class Schedule {
 public:
  explicit Schedule(std::uint64_t seed) : rng_(seed), rig_(random_setup(), 32, 2) {}

  void run() {
    ASSERT_TRUE(rig_.configured);
    remember(rig_.brain.views(rig_.now)[0].nodes);
    for (int step = 0; step < kSteps && !::testing::Test::HasFailure(); ++step) {
      const auto acts = rng_.below(4);
      for (std::uint64_t i = 0; i < acts; ++i) act();
      const std::uint64_t number = rig_.brain.table()->number;
      const Tick tick = rig_.tick(random_time());
      const auto nodes = rig_.brain.views(rig_.now)[0].nodes;
      check(tick, number, nodes);
      if (rng_.below(2) == 0) rig_.brain.workers_past(number);
      remember(nodes);
    }
  }

 private:
  bool chance(std::uint64_t one_in) { return rng_.below(one_in) == 0; }

  base::Duration random_time() {
    constexpr std::array<base::Duration, 6> kTimes{5ms, 100ms, 100ms, 1s, 10s, 40s};
    return kTimes[rng_.below(kTimes.size())];
  }

  control::Setup random_setup() {
    std::vector<model::NodeSpec> nodes;
    for (char c = 'a'; c < 'g'; ++c) {
      if (chance(4)) continue;
      const double weight = chance(12) ? 0 : static_cast<double>(1 + rng_.below(8));
      nodes.push_back(
          node(std::string("node-") + c, weight,
               static_cast<std::uint16_t>(9000 + 2 * (c - 'a') + (chance(10) ? 1 : 0))));
    }
    for (std::size_t i = nodes.size(); i > 1; --i) std::swap(nodes[i - 1], nodes[rng_.below(i)]);
    UpstreamSetup up = upstream("api", std::move(nodes));
    if (chance(2)) up.health.active = health::ActiveOptions{.http = health::HttpCheck{}};
    if (up.health.active && chance(4)) up.health.active->initial = health::Initial::kOut;
    up.health.slow_start = chance(4) ? base::Duration(0s) : base::Duration(20s);
    up.health.cooldown = 3s;
    if (chance(2)) up.sense.score = sense::ScoreOptions{.interval = 1s};
    constexpr std::array kLaws{"adaptive", "score_map", "static",
                               "capacity", "factors",   "cpu_target"};
    up.weigh.controller = {kLaws[rng_.below(kLaws.size())], nullptr};
    control::Setup setup;
    setup.upstreams.push_back(std::move(up));
    return setup;
  }

  const std::string& random_node() {
    const auto& nodes = rig_.setup.upstreams[0].spec.nodes;
    return nodes[rng_.below(nodes.size())].name;
  }

  void act() {
    if (chance(12) || rig_.setup.upstreams[0].spec.nodes.empty()) {
      ASSERT_TRUE(rig_.reload(random_setup())) << "32 slots are enough for what can be leaving";
      rig_.brain.workers_past(rig_.brain.table()->number);
      return;
    }
    const std::string name = random_node();
    const auto worker = static_cast<std::uint32_t>(rng_.below(2));
    switch (rng_.below(8)) {
      case 0:
        rig_.answer(name, 1 + static_cast<int>(rng_.below(5)), worker);
        break;
      case 1:
        rig_.fail(name, 1 + static_cast<int>(rng_.below(7)), worker);
        break;
      case 2:
        rig_.refuse(name, worker);
        break;
      case 3:
        rig_.check(name, static_cast<model::CheckOutcome>(rng_.below(5)));
        break;
      case 4:
        report(name);
        break;
      case 5:
        report(name);
        break;
      case 6:
        override_node(name);
        break;
      default:
        restart();
        break;
    }
  }

  void report(const std::string& name) {
    model::ReportSample sample{rig_.ref(name), rig_.now, model::ReportOutcome::kOk, {}, "random"};
    if (chance(5)) sample.outcome = static_cast<model::ReportOutcome>(rng_.below(5));
    if (sample.outcome == model::ReportOutcome::kOk) {
      sample.report.score = static_cast<double>(rng_.below(101));
      if (chance(2)) sample.report.utilisation = static_cast<double>(rng_.below(101)) / 100;
    }
    rig_.brain.observe(sample);
  }

  void override_node(const std::string& name) {
    if (chance(3)) {
      EXPECT_TRUE(rig_.brain.clear_override("", name, rig_.now));
    } else {
      EXPECT_TRUE(rig_.brain.set_override({"api", name, static_cast<double>(rng_.below(6)), "test",
                                           "model", rig_.now + random_time()},
                                          rig_.now));
    }
  }

  // What is saved is what comes back: saving again gives the same bytes.
  void restart() {
    const auto blob = rig_.brain.save(rig_.now);
    EXPECT_TRUE(model::decode(blob, rig_.now));
    model::Slots slots(32, 2);
    Brain other(slots);
    ASSERT_TRUE(other.configure(rig_.setup, rig_.now));
    ASSERT_TRUE(other.restore(blob, rig_.now));
    const auto again = other.save(rig_.now);
    EXPECT_EQ(model::decode(again, rig_.now)->nodes.size(),
              model::decode(blob, rig_.now)->nodes.size());
  }

  void remember(const std::vector<NodeView>& nodes) {
    before_.clear();
    for (const NodeView& v : nodes) before_[v.name] = {v.ref, v.eligibility, full(v)};
  }
  static double full(const NodeView& v) {
    return v.override_ ? v.override_->weight : v.base * v.control;
  }

  void check(const Tick& t, std::uint64_t number, const std::vector<NodeView>& nodes) {
    EXPECT_EQ(t.table->number, number + (t.changed ? 1 : 0))
        << "numbers grow by one for each change";
    check_table(*t.table->find("api"));
    check_decisions(t);
    for (const NodeView& v : nodes) check_node(v, t);
  }

  void check_table(const model::TableUpstream& api) {
    double sum = 0;
    std::size_t open = 0;
    std::size_t usable = 0;
    for (std::size_t i = 0; i < api.nodes.size(); ++i) {
      const auto& n = api.nodes[i];
      sum += api.share(i);
      open += n.eligibility != Eligibility::kDraining ? 1 : 0;
      usable += n.eligibility == Eligibility::kUsable ? 1 : 0;
      EXPECT_TRUE(std::isfinite(n.weight));
      EXPECT_EQ(n.weight == 0, n.eligibility == Eligibility::kDraining) << n.name;
      if (n.eligibility == Eligibility::kDraining) {
        EXPECT_EQ(api.share(i), 0);
      }
    }
    if (open > 0) {
      EXPECT_NEAR(sum, 1, 1e-9)
          << "somebody answers for the upstream as long as not all are drained";
    }
    EXPECT_TRUE(api.panic || 2 * usable >= open);
    EXPECT_FALSE(api.panic && open == 0);
  }

  void check_decisions(const Tick& tick) {
    std::set<std::string> told;
    for (const auto& d : tick.decisions) {
      EXPECT_FALSE(d.reason.empty());
      EXPECT_EQ(d.table, tick.table->number);
      EXPECT_EQ(d.node.upstream, "api");
      if (d.node.name.empty()) continue;
      EXPECT_EQ(d.reason.rfind(d.node.name, 0), 0U) << d.reason;
      if (d.to == 0 && d.eligibility == Eligibility::kOut) continue;  // it left
      EXPECT_TRUE(told.insert(d.node.name).second) << "one decision a node and tick: " << d.reason;
      EXPECT_GE(d.stages.size(), 2U);
      EXPECT_TRUE(std::isfinite(d.wanted));
    }
  }

  void check_node(const NodeView& v, const Tick& tick) {
    SCOPED_TRACE(v.name);
    const bool drained = v.eligibility == Eligibility::kDraining;
    const bool panic = tick.table->upstreams[0].panic;
    EXPECT_GE(v.control, 0.1 - 1e-9) << "never below the floor";
    EXPECT_GE(v.ramp, 0.1);
    EXPECT_LE(v.ramp, 1);
    EXPECT_FALSE(v.reason.empty());
    if (!drained && !panic) {
      EXPECT_NEAR(v.effective, full(v) * v.ramp, 1e-12);
    }
    const auto limit = rig_.slots.line(v.ref).max_in_flight.load();
    EXPECT_EQ(limit, v.eligibility == Eligibility::kTrial && !panic ? 1U : drained ? limit : 0U);
    const auto was = before_.find(v.name);
    if (was == before_.end() || was->second.ref != v.ref) return;
    const bool moved = was->second.eligibility != v.eligibility || was->second.full != full(v);
    const bool told = std::any_of(tick.decisions.begin(), tick.decisions.end(),
                                  [&](const auto& d) { return d.node.name == v.name; });
    EXPECT_TRUE(told || !moved) << "no transition without a decision: "
                                << to_text(was->second.eligibility) << " → "
                                << to_text(v.eligibility) << ", " << was->second.full << " → "
                                << full(v);
  }

  base::Rng rng_;
  Rig rig_;
  std::map<std::string, Before> before_;
};

TEST(Model, HoldsItsInvariantsOverRandomSchedules) {
  for (std::uint64_t seed = kFirstSeed; seed < kFirstSeed + kSchedules; ++seed) {
    Schedule schedule(seed);
    schedule.run();
    if (::testing::Test::HasFailure()) {
      FAIL() << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace steelyard::control
