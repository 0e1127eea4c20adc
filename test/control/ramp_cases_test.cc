// Slow start as people met it: when a ramp begins, for whom, and by which clock.

#include <cmath>
#include <gtest/gtest.h>

#include "test/control/rig.h"

namespace steelyard::control {
namespace {

constexpr base::Duration kWindow = 10s;

control::Setup checked(std::vector<model::NodeSpec> nodes) {
  control::Setup setup{{upstream("api", std::move(nodes))}};
  auto& health = setup.upstreams[0].health;
  health.active =
      health::ActiveOptions{.http = health::HttpCheck{}, .initial = health::Initial::kOut};
  health.slow_start = kWindow;
  health.cooldown = 1s;
  return setup;
}

void pass(Rig& rig, std::initializer_list<std::string_view> nodes) {
  for (const auto name : nodes) {
    for (int i = 0; i < 2; ++i) rig.check(name, model::CheckOutcome::kPass);
  }
  rig.tick();
}

// Of a node whose ramp is at `ramp` beside two full ones of the same weight.
double third(double ramp) { return ramp / (2 + ramp); }

// Its share over the window is that of a line from a tenth to the whole.
void expect_ramp(Rig& rig, std::string_view name) {
  for (base::Duration t{}; t < kWindow; t += 1s) {
    const double ramp = std::max(0.1, base::seconds(t) / base::seconds(kWindow));
    EXPECT_NEAR(rig.share(name), third(ramp), 0.01) << base::seconds(t);
    if (t < 1s) {
      EXPECT_LE(rig.share(name), 0.15);
    }
    rig.run(1s);
  }
  rig.run(200ms);
  EXPECT_NEAR(rig.share(name), 1.0 / 3, 1e-9);
}

TEST(Cases, LCN_06_TheRampBeginsWithTheFirstPassedCheckNotWithJoining) {
  Rig rig(checked({node("b"), node("c")}));
  pass(rig, {"b", "c"});
  rig.run(kWindow * 2);
  ASSERT_TRUE(rig.reload(checked({node("a"), node("b"), node("c")})));
  for (int i = 0; i < 12; ++i) {  // longer than the window
    rig.check("a", model::CheckOutcome::kFail);
    rig.run(1s);
    ASSERT_EQ(rig.share("a"), 0);
  }
  pass(rig, {"a"});
  expect_ramp(rig, "a");
}

TEST(Cases, LCN_07_EveryReturnIsARampOfTheWeightThatHoldsThen) {
  Rig rig(checked({node("a"), node("b"), node("c")}));
  pass(rig, {"a", "b", "c"});
  rig.run(60s);
  const auto down_and_up = [&] {
    for (int i = 0; i < 3; ++i) rig.check("a", model::CheckOutcome::kFail);
    rig.tick();
    ASSERT_EQ(rig.share("a"), 0);
    rig.run(5s);
    pass(rig, {"a"});
  };
  for (int i = 0; i < 2; ++i) {
    down_and_up();
    expect_ramp(rig, "a");
    rig.run(60s);
  }
  // Half the weight in the middle of a ramp: the ramp goes on, of the new weight.
  down_and_up();
  rig.run(5s);
  const double before = rig.at("a").weight;
  ASSERT_TRUE(rig.brain.set_override({"api", "a", 0.5, "less", "ops", rig.now + 1h}, rig.now));
  rig.tick();
  EXPECT_NEAR(rig.at("a").weight, before / 2, 0.01);
  rig.run(kWindow);
  EXPECT_NEAR(rig.at("a").weight, 0.5, 1e-9);
}

TEST(Cases, LCN_09_ARampIsMeasuredFromWhatWeSawOfThatNodeAlone) {
  control::Setup setup{{upstream("api", {node("b"), node("c")})}};
  setup.upstreams[0].health.slow_start = kWindow;
  Rig rig(setup);
  rig.run(60s);
  rig.now += 1h;
  rig.tick();
  setup.upstreams[0].spec.nodes.push_back(node("a"));
  ASSERT_TRUE(rig.reload(setup));
  rig.tick();
  EXPECT_DOUBLE_EQ(rig.at("a").weight, 0.1);
  EXPECT_EQ(rig.at("b").weight, 1);
  EXPECT_EQ(rig.at("c").weight, 1);
  rig.run(5s);
  const auto blob = rig.brain.save(rig.now);
  // After a restart, by another clock: the old nodes stay full, the new one goes on where it was.
  model::Slots slots(64, 2);
  Brain next(slots);
  const base::TimePoint now{7s};
  ASSERT_TRUE(next.configure(setup, now));
  ASSERT_TRUE(next.restore(blob, now));
  const auto& api = *next.tick(now).table->find("api");
  EXPECT_EQ(api.find("b")->weight, 1);
  EXPECT_NEAR(api.find("a")->weight, 0.5, 0.02);
  // Without what was saved all are equal.
  model::Slots others(64, 2);
  Brain anew(others);
  ASSERT_TRUE(anew.configure(setup, now));
  for (const auto& one : anew.tick(now).table->find("api")->nodes) EXPECT_EQ(one.weight, 1);
}

}  // namespace
}  // namespace steelyard::control
