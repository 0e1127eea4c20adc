#include "steelyard/control/brain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test/control/rig.h"

namespace steelyard::control {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

Setup three(double a = 4, double b = 3, double c = 2) {
  return {{upstream("api", {node("node-a", a), node("node-b", b), node("node-c", c)})}};
}
Setup with_checks(Setup setup) {
  setup.upstreams[0].health.active = health::ActiveOptions{.http = health::HttpCheck{}};
  return setup;
}

TEST(Brain, BootGivesTheConfiguredWeightsAndNobodyRamps) {
  Rig rig(three());
  ASSERT_NE(rig.brain.table(), nullptr);
  EXPECT_EQ(rig.brain.table()->number, 1U);
  EXPECT_EQ(rig.at("node-a").weight, 4);
  EXPECT_EQ(rig.at("node-b").weight, 3);
  EXPECT_EQ(rig.at("node-c").weight, 2);
  EXPECT_TRUE(rig.decisions.empty());
  EXPECT_EQ(rig.brain.pickers().size(), 1U);
  EXPECT_EQ(rig.brain.pickers()[0].kind->name, pick::kDefaultPicker);
}

TEST(Brain, ANumberGrowsOnlyWhenSomethingChanged) {
  Rig rig(three());
  const auto table = rig.brain.table();
  for (int i = 0; i < 100; ++i) {
    const Tick t = rig.tick();
    EXPECT_EQ(t.table, table);
    EXPECT_FALSE(t.changed);
  }
  rig.refuse("node-b");
  const Tick t = rig.tick(5ms);
  EXPECT_TRUE(t.changed);
  EXPECT_EQ(t.table->number, 2U);
  EXPECT_EQ(table->find("api")->find("node-b")->eligibility, Eligibility::kUsable)
      << "the old Table never changes";
}

TEST(Brain, AnEmptySetupIsATableToo) {
  Rig rig(control::Setup{});
  EXPECT_EQ(rig.brain.table()->number, 1U);
  EXPECT_TRUE(rig.brain.views(rig.now).empty());
}

TEST(Brain, ARefusedConnectionTakesANodeOutAtTheNextTick) {
  Rig rig(three());
  rig.refuse("node-b", 1);
  rig.tick(5ms);
  EXPECT_EQ(rig.at("node-b").eligibility, Eligibility::kOut);
  EXPECT_EQ(rig.share("node-b"), 0);
  EXPECT_EQ(rig.last_reason("node-b"), "node-b out for 30 s: connection refused");
  EXPECT_EQ(rig.last("node-b")->change, Change::kOut);
  EXPECT_EQ(rig.last("node-b")->table, 2U);
}

TEST(Brain, AWorkersOldStreakDoesNotCountAgainAfterTheReturn) {
  Rig rig(three());
  rig.fail("node-b", 5, 0);
  rig.tick();
  ASSERT_EQ(rig.at("node-b").eligibility, Eligibility::kOut);
  rig.run(30s);
  ASSERT_EQ(rig.at("node-b").eligibility, Eligibility::kTrial);
  rig.answer("node-b", 3, 1);  // worker 0 sends nothing and still shows its streak of five
  rig.tick();
  ASSERT_EQ(rig.at("node-b").eligibility, Eligibility::kUsable);
  rig.fail("node-b", 1, 1);
  rig.answer("node-b", 1, 1);
  rig.tick();
  EXPECT_EQ(rig.at("node-b").eligibility, Eligibility::kUsable);
}

TEST(Brain, ATrialIsOneRequestAtATimeThenARamp) {
  Rig rig(three());
  rig.refuse("node-b");
  rig.tick();
  rig.run(30s);
  EXPECT_EQ(rig.at("node-b").eligibility, Eligibility::kTrial);
  auto& line = rig.slots.line(rig.ref("node-b"));
  EXPECT_EQ(line.max_in_flight.load(), 1U);
  auto first = model::InFlight::acquire(line);
  ASSERT_TRUE(first);
  for (int i = 0; i < 1000; ++i)
    ASSERT_FALSE(model::InFlight::acquire(line)) << "exactly one at a time";
  first->give_back();
  rig.answer("node-b", 3);
  rig.tick();
  EXPECT_EQ(line.max_in_flight.load(), 0U);
  EXPECT_DOUBLE_EQ(rig.at("node-b").weight, 0.3);
  EXPECT_EQ(rig.last("node-b")->change, Change::kRamp);
  EXPECT_THAT(rig.last_reason("node-b"),
              StartsWith("node-b ramps from 10 % over 60 s: trial passed (3 answers)"));
  rig.run(60s);
  EXPECT_EQ(rig.at("node-b").weight, 3);
}

TEST(Brain, FiveOfTenDownIsNoPanicAndSixAre) {
  std::vector<model::NodeSpec> nodes;
  for (char c = '0'; c <= '9'; ++c) nodes.push_back(node(std::string("node-") + c));
  Rig rig({{upstream("api", nodes)}});
  for (char c = '0'; c < '5'; ++c) rig.refuse(std::string("node-") + c);
  rig.tick();
  EXPECT_FALSE(rig.brain.table()->find("api")->panic);
  EXPECT_EQ(rig.share("node-0"), 0);
  EXPECT_NEAR(rig.share("node-9"), 0.2, 1e-9);
  rig.refuse("node-5");
  rig.tick();
  EXPECT_TRUE(rig.brain.table()->find("api")->panic);
  EXPECT_EQ(rig.last("")->change, Change::kPanic);
  EXPECT_EQ(rig.last_reason(""),
            "api: panic: only 4 of 10 nodes are healthy (limit 50 %), so the signals are "
            "distrusted: all but drained nodes are "
            "picked");
  for (char c = '0'; c <= '9'; ++c) EXPECT_NEAR(rig.share(std::string("node-") + c), 0.1, 1e-9);
}

TEST(Brain, InPanicTheUsableNodesKeepThirtyPercentAndTheOthersComeBackByTheirAnswers) {
  std::vector<model::NodeSpec> nodes;
  for (char c = '0'; c <= '9'; ++c) nodes.push_back(node(std::string("node-") + c));
  Rig rig({{upstream("api", nodes)}});
  for (char c = '0'; c < '9'; ++c) rig.refuse(std::string("node-") + c);
  rig.tick();
  EXPECT_NEAR(rig.share("node-9"), 0.3, 1e-9);
  EXPECT_NEAR(rig.share("node-0"), 0.7 / 9, 1e-9);
  rig.run(30s);
  ASSERT_EQ(rig.at("node-0").eligibility, Eligibility::kOut) << "panic is its trial";
  EXPECT_EQ(rig.slots.line(rig.ref("node-0")).max_in_flight.load(), 0U);
  for (char c = '0'; c < '4'; ++c) rig.answer(std::string("node-") + c, 3);
  rig.tick();
  EXPECT_EQ(rig.at("node-0").eligibility, Eligibility::kOut);
  rig.run(1s);
  for (char c = '0'; c < '4'; ++c) rig.answer(std::string("node-") + c, 3);
  rig.tick();
  EXPECT_EQ(rig.at("node-0").eligibility, Eligibility::kUsable);
  EXPECT_EQ(rig.at("node-0").weight, rig.at("node-9").weight) << "no ramp";
  EXPECT_FALSE(rig.brain.table()->find("api")->panic);
  EXPECT_EQ(rig.last_reason(""), "api: panic is over: 5 of 10 nodes are healthy");
  rig.tick();
  EXPECT_EQ(rig.at("node-5").eligibility, Eligibility::kTrial);
  EXPECT_EQ(rig.slots.line(rig.ref("node-5")).max_in_flight.load(), 1U) << "the limit is back";
}

TEST(Brain, TheLastUsableNodeStaysAndAllAreTried) {
  Rig rig(three());
  for (const auto* name : {"node-a", "node-b", "node-c"}) rig.refuse(name);
  rig.tick();
  EXPECT_EQ(rig.at("node-c").eligibility, Eligibility::kUsable);
  EXPECT_TRUE(rig.brain.table()->find("api")->panic);
  for (const auto* name : {"node-a", "node-b", "node-c"}) EXPECT_GT(rig.share(name), 0) << name;
  EXPECT_THAT(rig.last_reason("node-c"),
              StartsWith("node-c kept in service, being the last usable node: connection refused"));
}

TEST(Brain, ASingleNodeIsNeverTakenOutByItsTraffic) {
  Rig rig({{upstream("api", {node("only")})}});
  for (int i = 0; i < 50; ++i) {
    rig.fail("only", 5);
    rig.tick();
    EXPECT_EQ(rig.share("only"), 1);
    EXPECT_EQ(rig.slots.line(rig.ref("only")).max_in_flight.load(), 0U);
  }
}

TEST(Brain, DrainedNodesGetNothingNotEvenInPanic) {
  Rig rig(three(4, 0, 2));
  EXPECT_EQ(rig.at("node-b").eligibility, Eligibility::kDraining);
  rig.refuse("node-a");
  rig.refuse("node-c");
  rig.tick();
  EXPECT_TRUE(rig.brain.table()->find("api")->panic);
  EXPECT_EQ(rig.share("node-b"), 0);
}

TEST(Overrides, ReplaceTheWeightUntilTheyExpire) {
  Rig rig(three());
  const auto set =
      rig.brain.set_override({"", "node-b", 9, "canary", "alice", rig.now + 10s}, rig.now);
  ASSERT_TRUE(set);
  EXPECT_EQ(*set, (model::NodeId{"api", "node-b"}));
  rig.tick();
  EXPECT_EQ(rig.at("node-b").weight, 9);
  EXPECT_EQ(rig.last("node-b")->change, Change::kOverride);
  EXPECT_EQ(rig.last_reason("node-b"),
            "node-b: override 9 set by alice (canary) for 10 s; weight 3 → 9 (share 33 % → 60 %)");
  rig.run(9700ms);
  EXPECT_EQ(rig.at("node-b").weight, 9);
  rig.tick(300ms);
  EXPECT_EQ(rig.at("node-b").weight, 3);
  EXPECT_EQ(rig.last_reason("node-b"),
            "node-b: override 9 by alice (canary) expired; weight 9 → 3 (share 60 % → 33 %)");
}

TEST(Overrides, ZeroDrainsAndTheReturnRamps) {
  Rig rig(three());
  ASSERT_TRUE(
      rig.brain.set_override({"api", "node-b", 0, "upgrade", "cli", rig.now + 1h}, rig.now));
  rig.tick();
  EXPECT_EQ(rig.at("node-b").eligibility, Eligibility::kDraining);
  EXPECT_EQ(rig.at("node-b").weight, 0);
  EXPECT_EQ(rig.last("node-b")->change, Change::kDrain);
  ASSERT_TRUE(rig.brain.clear_override("api", "node-b", rig.now));
  rig.tick();
  EXPECT_EQ(rig.at("node-b").eligibility, Eligibility::kUsable);
  EXPECT_DOUBLE_EQ(rig.at("node-b").weight, 0.3);
  EXPECT_THAT(rig.last_reason("node-b"), HasSubstr("no longer drained"));
  rig.run(60s);
  EXPECT_EQ(rig.at("node-b").weight, 3);
}

TEST(Overrides, AreRefusedWithTheReason) {
  control::Setup setup = three();
  setup.upstreams.push_back(upstream("web", {node("node-a"), node("web-1")}));
  Rig rig(setup);
  struct Row {
    const char *name, *upstream, *node;
    double weight;
    base::Duration life;
    base::Code code;
    const char* text;
  };
  const Row rows[] = {
      {"name in several upstreams", "", "node-a", 1, 1h, base::Code::kConflict,
       "several upstreams have a node \"node-a\", name one of: api web"},
      {"no such node", "", "node-x", 1, 1h, base::Code::kNotFound,
       "there is no node \"node-x\", did you mean \"node-a\"?"},
      {"no such upstream", "apis", "node-a", 1, 1h, base::Code::kNotFound,
       "there is no upstream \"apis\", did you mean \"api\"?"},
      {"in another upstream", "web", "node-b", 1, 1h, base::Code::kNotFound,
       "there is no node \"node-b\", did you mean \"node-a\"?"},
      {"below zero", "api", "node-a", -1, 1h, base::Code::kInvalid,
       "weight must be a number from 0"},
      {"no number", "api", "node-a", std::numeric_limits<double>::quiet_NaN(), 1h,
       base::Code::kInvalid, "weight must be a number from 0"},
      {"ended already", "api", "node-a", 1, 0s, base::Code::kInvalid,
       "the override would have ended already"},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    const auto set = rig.brain.set_override(
        {row.upstream, row.node, row.weight, "r", "b", rig.now + row.life}, rig.now);
    ASSERT_FALSE(set);
    EXPECT_EQ(set.error().code, row.code);
    EXPECT_EQ(set.error().text, row.text);
  }
  EXPECT_TRUE(rig.brain.set_override({"", "web-1", 2, "r", "b", rig.now + 1h}, rig.now));
}

// {A w1000, B w1}: A fails its check three times and recovers; its weight is the one that was asked
// for.
TEST(Cases, WGT_12_RecoveredMemberComesBackWithItsWeight) {
  Rig rig(with_checks({{upstream("api", {node("a", 1000), node("b", 1)})}}));
  const auto down_and_up = [&](auto while_down) {
    for (int i = 0; i < 3; ++i) rig.check("a", model::CheckOutcome::kFail);
    rig.tick();
    ASSERT_EQ(rig.at("a").eligibility, Eligibility::kOut);
    ASSERT_EQ(rig.share("b"), 1);
    while_down();
    rig.run(60s);
    rig.check("a", model::CheckOutcome::kPass);
    rig.check("a", model::CheckOutcome::kPass);
    rig.tick();
    ASSERT_EQ(rig.at("a").eligibility, Eligibility::kUsable);
    rig.run(60s);
  };
  down_and_up([] {});
  EXPECT_EQ(rig.at("a").weight, 1000);
  EXPECT_GE(rig.share("a"), 0.99);
  down_and_up([&] {
    ASSERT_TRUE(rig.brain.set_override({"api", "a", 500, "api", "api", rig.now + 1h}, rig.now));
    ASSERT_TRUE(rig.brain.set_override({"api", "b", 500, "api", "api", rig.now + 1h}, rig.now));
  });
  EXPECT_NEAR(rig.share("a"), 0.5, 1e-9);
}

TEST(Brain, ViewsShowWhatIsWantedAndWhatIsSeen) {
  Rig rig(three());
  for (int i = 0; i < 100; ++i) {
    rig.answer("node-a", 6, 0);
    rig.answer("node-b", 3, 1);
    rig.answer("node-c", 1, 0);
    rig.tick();
  }
  const auto views = rig.brain.views(rig.now);
  ASSERT_EQ(views.size(), 1U);
  EXPECT_EQ(views[0].picker, "least_connections");
  EXPECT_EQ(views[0].controller, "static");
  const auto& b = views[0].nodes[1];
  EXPECT_EQ(b.name, "node-b");
  EXPECT_NEAR(b.share_wanted, 3.0 / 9, 1e-9);
  ASSERT_TRUE(b.share_seen);
  EXPECT_NEAR(*b.share_seen, 0.3, 0.01);
  EXPECT_NEAR(b.rate, 30, 1.5);
  EXPECT_EQ(b.counts.successes, 300U);
  EXPECT_EQ(b.counts.head_latency.count(), 300U);
  EXPECT_EQ(b.reason, "in service");
  EXPECT_TRUE(b.seen.rate);
}

TEST(Brain, WithoutTrafficNoShareIsSeen) {
  Rig rig(three());
  rig.run(10s);
  EXPECT_FALSE(rig.brain.views(rig.now)[0].nodes[0].share_seen);
}

Setup scored() {
  control::Setup setup{{upstream("api", {node("node-a", 4), node("node-b", 4), node("node-c", 4),
                                         node("node-d", 4), node("node-e", 4)})}};
  setup.upstreams[0].sense.score = sense::ScoreOptions{.interval = 1s};
  setup.upstreams[0].weigh.controller = {"score_map", nullptr};
  return setup;
}
// Everybody is well but node-b.
void scores(Rig& rig, double b, int seconds) {
  for (int i = 0; i < seconds; ++i) {
    for (const auto* name : {"node-a", "node-b", "node-c", "node-d", "node-e"}) {
      rig.score(name, name == std::string_view("node-b") ? b : 97);
    }
    rig.run(1s);
  }
}

TEST(Brain, AFallingScoreMovesTheWeightInStepsAndSaysWhy) {
  Rig rig(scored());
  scores(rig, 97, 5);
  EXPECT_EQ(rig.at("node-b").weight, 4);
  const std::size_t before = rig.decisions.size();
  scores(rig, 20, 5);
  EXPECT_LT(rig.share("node-b"), 0.1) << "halved within five samples";
  ASSERT_GT(rig.decisions.size(), before);
  const auto* d = rig.last("node-b");
  EXPECT_THAT(d->reason, StartsWith("node-b: weight "));
  EXPECT_THAT(d->reason, HasSubstr("share "));
  EXPECT_THAT(d->reason, HasSubstr("score "));
  EXPECT_EQ(d->controller, "score_map");
  std::string stages;
  for (const auto& s : d->stages) stages += std::string(s.stage) + ' ';
  EXPECT_EQ(stages, "controller trust threshold step cooldown floor cap override ramp ");
  EXPECT_EQ(d->stages.back().value, d->to);
}

TEST(Brain, WhatIsHeldBackIsToldOnceNotAtEverySample) {
  control::Setup setup = scored();
  setup.upstreams[0].weigh.threshold = 0.5;
  Rig rig(setup);
  scores(rig, 97, 5);
  rig.decisions.clear();
  scores(rig, 88, 50);  // 8 of 10: a fifth less, below the threshold
  EXPECT_EQ(rig.at("node-b").weight, 4);
  int told = 0;
  for (const auto& d : rig.decisions)
    told += d.node.name == "node-b" && d.change == Change::kSuppressed ? 1 : 0;
  EXPECT_GE(told, 1);
  EXPECT_LE(told, 2);
  EXPECT_THAT(rig.last_reason("node-b"), StartsWith("node-b: weight stays 4, "));
}

TEST(Brain, AnOverrideHidesTheLawButDoesNotStopItsLearning) {
  Rig rig(scored());
  scores(rig, 97, 5);
  ASSERT_TRUE(rig.brain.set_override({"api", "node-b", 4, "hold", "ops", rig.now + 30s}, rig.now));
  scores(rig, 20, 20);
  EXPECT_EQ(rig.at("node-b").weight, 4);
  scores(rig, 20, 11);
  EXPECT_LT(rig.at("node-b").weight, 1) << "what it learned meanwhile applies at once";
}

TEST(Brain, LosingAllSignalsIsSaidOnce) {
  Rig rig(scored());
  scores(rig, 20, 20);
  const double weight = rig.at("node-b").weight;
  rig.decisions.clear();
  rig.run(60s);
  EXPECT_EQ(rig.at("node-b").weight, weight);
  int told = 0;
  for (const auto& d : rig.decisions) told += d.node.name.empty() ? 1 : 0;
  EXPECT_EQ(told, 1);
  EXPECT_EQ(rig.last_reason(""),
            "api: no signal is known from any node: the last good weights are frozen");
}

TEST(Brain, RestoresWhatItSaved) {
  Rig rig(scored());
  scores(rig, 20, 20);
  rig.refuse("node-c");
  ASSERT_TRUE(rig.brain.set_override({"api", "node-a", 7, "hold", "ops", rig.now + 1h}, rig.now));
  rig.tick();
  const auto blob = rig.brain.save(rig.now);

  model::Slots slots(64, 2);
  Brain next(slots);
  const base::TimePoint now{50s};  // another boot, another clock
  control::Setup setup = scored();
  setup.upstreams[0].spec.nodes.push_back(node("node-f"));
  ASSERT_TRUE(next.configure(setup, now));
  ASSERT_TRUE(next.restore(blob, now));
  const Tick t = next.tick(now);
  const auto& api = *t.table->find("api");
  EXPECT_EQ(api.find("node-a")->weight, 7);
  EXPECT_NEAR(api.find("node-b")->weight, rig.at("node-b").weight, 1e-9);
  EXPECT_EQ(api.find("node-c")->eligibility, Eligibility::kOut);
  EXPECT_EQ(next.views(now)[0].nodes[0].override_->until, now + 1h - 100ms);
  EXPECT_EQ(next.tick(now + 29s).table->find("api")->find("node-c")->eligibility,
            Eligibility::kOut);
  EXPECT_EQ(next.tick(now + 30s).table->find("api")->find("node-c")->eligibility,
            Eligibility::kTrial);
}

TEST(Brain, ADamagedBlobIsNotUsedAtAll) {
  Rig rig(scored());
  ASSERT_TRUE(rig.brain.set_override({"api", "node-a", 7, "hold", "ops", rig.now + 1h}, rig.now));
  auto blob = rig.brain.save(rig.now);
  blob[blob.size() / 2] ^= std::byte{4};
  Rig other(scored());
  EXPECT_FALSE(other.brain.restore(blob, other.now));
  other.tick();
  EXPECT_EQ(other.at("node-a").weight, 4);
}

TEST(History, GivesTheNewestFirstAndForgetsTheOldest) {
  History history(3);
  for (int i = 1; i <= 5; ++i) {
    model::Decision d;
    d.node = {"api", i % 2 == 0 ? "even" : "odd"};
    d.reason = std::to_string(i);
    history.add(std::move(d));
  }
  const auto reasons = [&](const HistoryFilter& f) {
    std::string text;
    for (const auto* d : history.find(f)) text += d->reason;
    return text;
  };
  EXPECT_EQ(reasons({}), "543");
  EXPECT_EQ(reasons({.limit = 2}), "54");
  EXPECT_EQ(reasons({.node = "even"}), "4");
  EXPECT_EQ(reasons({.upstream = "web"}), "");
  EXPECT_EQ(history.size(), 3U);
}

}  // namespace
}  // namespace steelyard::control
