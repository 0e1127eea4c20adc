#include <algorithm>
#include <array>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits>
#include <map>

#include "steelyard/base/rng.h"

#include "test/control/rig.h"

namespace steelyard::control {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

control::Setup api(std::vector<model::NodeSpec> nodes) {
  control::Setup setup{{upstream("api", std::move(nodes))}};
  setup.upstreams[0].sense.score = sense::ScoreOptions{.interval = 1s};
  setup.upstreams[0].weigh.controller = {"score_map", nullptr};
  return setup;
}

// Nodes m to p are there so that no cap on a share hides what is tested.
std::vector<model::NodeSpec> family(bool with_d) {
  std::vector<model::NodeSpec> nodes;
  for (const char c : std::string_view("abcdmnop")) {
    if (c != 'd' || with_d) nodes.push_back(node(std::string("node-") + c));
  }
  return nodes;
}

// node-a is out, node-b has learned a low weight, node-c has an override, node-d is ramping.
struct Learned : Rig {
  Learned() : Rig(api(family(false))) {
    (void)reload(api(family(true)));
    for (int i = 0; i < 20; ++i) {
      for (const auto& n : setup.upstreams[0].spec.nodes)
        score(n.name, n.name == "node-b" ? 20 : 97);
      run(1s);
    }
    (void)brain.set_override({"api", "node-c", 3, "hold", "ops", now + 1h}, now);
    refuse("node-a");
    tick();
  }
};

void expect_learned(const Learned& rig, const std::map<std::string, model::NodeRef>& refs) {
  EXPECT_EQ(rig.at("node-a").eligibility, Eligibility::kOut);
  EXPECT_LT(rig.at("node-b").weight, 0.25);
  EXPECT_EQ(rig.at("node-c").weight, 3);
  EXPECT_LT(rig.at("node-d").weight, 0.5);
  for (const auto& [name, ref] : refs) EXPECT_EQ(rig.ref(name), ref) << name;
}

std::map<std::string, model::NodeRef> refs_of(const Learned& rig) {
  std::map<std::string, model::NodeRef> refs;
  for (const auto* name : {"node-a", "node-b", "node-c", "node-d"}) refs[name] = rig.ref(name);
  return refs;
}

TEST(Configure, WhatWasLearnedStaysWithTheNameThroughReloadsAndReordering) {
  struct Row {
    const char* name;
    void (*change)(UpstreamSetup&);
  };
  const Row rows[] = {
      {"the same again", [](UpstreamSetup&) {}},
      {"another order",
       [](UpstreamSetup& u) { std::reverse(u.spec.nodes.begin(), u.spec.nodes.end()); }},
      {"other health options", [](UpstreamSetup& u) { u.health.cooldown = 40s; }},
      {"other weigh options", [](UpstreamSetup& u) { u.weigh.threshold = 0.1; }},
      {"other sense options", [](UpstreamSetup& u) { u.sense.score->interval = 2s; }},
      {"one more node",
       [](UpstreamSetup& u) { u.spec.nodes.insert(u.spec.nodes.begin(), node("node-e")); }},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    Learned rig;
    const auto refs = refs_of(rig);
    control::Setup next = rig.setup;
    row.change(next.upstreams[0]);
    ASSERT_TRUE(rig.reload(next));
    rig.tick();
    expect_learned(rig, refs);
  }
}

TEST(Configure, ANodeThatJoinsRampsAndSaysSo) {
  Rig rig(api({node("node-a"), node("node-b")}));
  ASSERT_TRUE(rig.reload(api({node("node-a"), node("node-b"), node("node-c")})));
  rig.tick();
  EXPECT_DOUBLE_EQ(rig.at("node-c").weight, 0.1);
  EXPECT_EQ(rig.last("node-c")->change, Change::kRamp);
  EXPECT_EQ(rig.last_reason("node-c"),
            "node-c ramps from 10 % over 60 s: new; weight 0 → 0.1 (share 0 % → 4.8 %)");
  EXPECT_EQ(rig.at("node-a").weight, 1);
}

TEST(Configure, NobodyRampsWhenAllAreReplaced) {
  Rig rig(api({node("node-a"), node("node-b")}));
  ASSERT_TRUE(rig.reload(api({node("node-c"), node("node-d")})));
  rig.tick();
  EXPECT_EQ(rig.at("node-c").weight, 1);
  EXPECT_EQ(rig.at("node-d").weight, 1);
}

TEST(Configure, ANewAddressIsANewIncarnationButAnOverrideStays) {
  Learned rig;
  const auto refs = refs_of(rig);
  control::Setup next = rig.setup;
  for (auto& n : next.upstreams[0].spec.nodes) {
    if (n.name != "node-d") n.address = n.address.with_port(9999);
  }
  ASSERT_TRUE(rig.reload(next));
  rig.tick();
  EXPECT_EQ(rig.at("node-a").eligibility, Eligibility::kUsable) << "the ejection was the old one's";
  EXPECT_TRUE(rig.brain.views(rig.now)[0].nodes[0].ejections == 0);
  EXPECT_EQ(rig.last("node-b")->from, 0);
  EXPECT_NEAR(rig.at("node-c").weight, 0.3, 1e-9) << "the override, ramping";
  EXPECT_NE(rig.ref("node-a"), refs.at("node-a"));
  EXPECT_THAT(rig.last_reason("node-a"), HasSubstr("starts anew at another address: 127.0.0.1:"));
  // A late report of the old incarnation says nothing about the new one.
  rig.brain.observe(
      model::CheckSample{refs.at("node-a"), rig.now, model::CheckOutcome::kRefused, {}, ""});
  rig.brain.observe(
      model::ReportSample{refs.at("node-a"), rig.now, model::ReportOutcome::kRefused, {}, ""});
  rig.tick();
  EXPECT_EQ(rig.at("node-a").eligibility, Eligibility::kUsable);
}

TEST(Configure, ANewBaseWeightScalesWhatWasLearned) {
  Learned rig;
  const double before = rig.at("node-b").weight;
  control::Setup next = rig.setup;
  next.upstreams[0].spec.nodes[1].weight = 4;
  ASSERT_TRUE(rig.reload(next));
  rig.tick();
  EXPECT_NEAR(rig.at("node-b").weight, 4 * before, 0.05);
  EXPECT_THAT(rig.last_reason("node-b"), StartsWith("node-b: configured weight 1 → 4; weight "));
}

TEST(Configure, ABadSetupChangesNothing) {
  struct Row {
    const char* name;
    control::Setup setup;
    const char* text;
  };
  const Row rows[] = {
      {"twice the same node", api({node("node-a"), node("node-a")}),
       "upstream api: node node-a is there twice"},
      {"twice the same upstream",
       {{upstream("api", {}), upstream("api", {})}},
       "upstream api is there twice"},
      {"a weight below zero", api({node("node-a", -1)}),
       "upstream api: node node-a: its weight is no weight"},
      {"no number", api({node("node-a", std::numeric_limits<double>::infinity())}),
       "upstream api: node node-a: its weight is no weight"},
      {"no address",
       {{upstream("api", {{"node-a", {}, 1}})}},
       "upstream api: node node-a has no address"},
      {"no name", {{upstream("", {})}}, "an upstream has no name"},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    Rig rig(api({node("node-a"), node("node-b")}));
    const auto table = rig.brain.table();
    const auto result = rig.brain.configure(row.setup, rig.now);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, base::Code::kInvalid);
    EXPECT_EQ(result.error().text, row.text);
    EXPECT_EQ(rig.tick().table, table);
  }
}

TEST(Configure, WithoutASlotNothingChanges) {
  Rig rig(api({node("node-a"), node("node-b")}), 3);
  const auto table = rig.brain.table();
  const auto result =
      rig.brain.configure(api({node("node-a"), node("node-c"), node("node-d")}), rig.now);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, base::Code::kLimit);
  EXPECT_EQ(rig.tick().table, table);
  EXPECT_TRUE(rig.brain.configure(api({node("node-a"), node("node-c")}), rig.now))
      << "its slots were given back";
}

// A mean hides bursts: who followed the advice of the mean alone closed what the next burst needed.
TEST(Configure, PoolAdviceIsNotBelowWhatIsOpen) {
  Rig rig(api({node("node-a")}));
  for (int i = 0; i < 100; ++i) rig.answer("node-a", 20), rig.tick();
  const auto by_mean = rig.brain.views(rig.now)[0].nodes[0].pool_advice;
  ASSERT_TRUE(by_mean);
  EXPECT_EQ(*by_mean, 1U) << "1.5 x 200 a second x 5 ms, for two workers";
  rig.cells("node-a", 0).pooled.set(9);
  rig.cells("node-a", 1).pooled.set(8);
  rig.tick();
  EXPECT_EQ(*rig.brain.views(rig.now)[0].nodes[0].pool_advice, 9U);
}

TEST(Configure, ASlotIsReleasedOnlyUnderTheReuseRule) {
  Rig rig(api({node("node-a"), node("node-b")}));
  const auto ref = rig.ref("node-b");
  auto& line = rig.slots.line(ref);
  auto& cells = rig.slots.cells(ref, 1);
  rig.answer("node-b", 7, 0);
  auto token = model::InFlight::acquire(line);
  cells.pooled.set(1);
  ASSERT_TRUE(rig.reload(api({node("node-a")})));
  EXPECT_EQ(rig.tick().table->find("api")->find("node-b"), nullptr);
  EXPECT_EQ(rig.last_reason("node-b"), "node-b left: it is not configured at " +
                                           node("node-b").address.to_text() + " any more");
  const auto number = rig.brain.table()->number;
  EXPECT_EQ(rig.brain.leaving(), 1U) << "workers may hold the old Table";
  rig.brain.workers_past(number - 1);
  EXPECT_EQ(rig.brain.leaving(), 1U) << "that is the old Table";
  rig.brain.workers_past(number);
  EXPECT_EQ(rig.brain.leaving(), 1U) << "a request is on its way";
  EXPECT_EQ(rig.brain.views(rig.now)[0].gone.successes, 7U) << "counted as gone meanwhile";
  cells.attempts.add(1), cells.successes.add(1);
  token->give_back();
  rig.tick();
  EXPECT_EQ(rig.brain.leaving(), 1U) << "a connection is kept";
  EXPECT_TRUE(rig.slots.current(ref));
  cells.pooled.set(0);
  rig.tick();
  EXPECT_EQ(rig.brain.leaving(), 0U);
  EXPECT_FALSE(rig.slots.current(ref));
  EXPECT_EQ(rig.brain.views(rig.now)[0].gone.successes, 8U);
  // The next owner starts at zero, though Cells are never reset.
  ASSERT_TRUE(rig.reload(api({node("node-a"), node("node-x")})));
  rig.tick();
  EXPECT_EQ(rig.ref("node-x").slot, ref.slot);
  EXPECT_EQ(rig.brain.views(rig.now)[0].nodes[1].counts.successes, 0U);
}

TEST(Configure, ANodeThatNeverWasInATableLeavesAtOnce) {
  Rig rig(api({node("node-a")}));
  ASSERT_TRUE(rig.reload(api({node("node-a"), node("node-b")})));
  ASSERT_TRUE(rig.reload(api({node("node-a")})));
  rig.tick();
  EXPECT_EQ(rig.brain.leaving(), 0U);
  EXPECT_TRUE(rig.decisions.empty());
}

// An upstream that leaves takes its counts to the sum of all such, at once and in full; one that
// comes back under the name begins at zero, so no series of counters ever falls.
TEST(Configure, CountsOfUpstreamsThatLeaveStayInTheSum) {
  Rig rig(api({node("node-a"), node("node-b")}));
  rig.answer("node-b", 3, 0);
  ASSERT_TRUE(rig.reload(api({node("node-a")})));
  rig.brain.workers_past(rig.tick().table->number);
  EXPECT_EQ(rig.brain.views(rig.now)[0].gone.successes, 3U);
  const auto ref = rig.ref("node-a");
  rig.answer("node-a", 7, 0);
  EXPECT_EQ(rig.brain.gone().successes, 0U);

  ASSERT_TRUE(rig.reload({}));
  EXPECT_EQ(rig.brain.gone().successes, 10U) << "also while workers may hold the node";
  rig.tick();
  ASSERT_TRUE(rig.reload(api({node("node-a")})));
  EXPECT_EQ(rig.brain.views(rig.now)[0].gone.successes, 0U) << "another upstream of that name";
  rig.slots.cells(ref, 0).successes.add(1);  // the last answer of the former one
  EXPECT_EQ(rig.brain.gone().successes, 11U);
  rig.brain.workers_past(rig.tick().table->number);
  EXPECT_FALSE(rig.slots.current(ref));
  EXPECT_EQ(rig.brain.gone().successes, 11U);
}

// Two workers that hold Tables, tokens and idle connections, through ten thousand random setups: no
// slot is lost, none is reused too early, no count is lost.
TEST(Configure, NeitherSlotsNorCountsAreLostOverTenThousandReconfigurations) {
  constexpr std::uint64_t kSeed = 4711;
  SCOPED_TRACE(kSeed);
  base::Rng rng(kSeed);
  constexpr std::uint32_t kCapacity = 40;
  Rig rig(api({node("node-a")}), kCapacity);
  struct Held {
    model::NodeRef ref;
    model::InFlight token;
  };
  std::vector<Held> held;
  std::vector<model::NodeRef> pooled;
  std::array<std::shared_ptr<const model::Table>, 2> holds{rig.brain.table(), rig.brain.table()};
  std::uint64_t counted = 0;
  int refused = 0;
  for (int round = 0; round < 10000; ++round) {
    std::vector<model::NodeSpec> nodes;
    for (char c = 'a'; c < 'i'; ++c) {
      if (rng.below(3) == 0) continue;
      nodes.push_back(
          node(std::string("node-") + c, 1,
               static_cast<std::uint16_t>(9000 + 2 * (c - 'a') + static_cast<int>(rng.below(2)))));
    }
    for (std::size_t i = nodes.size(); i > 1; --i) std::swap(nodes[i - 1], nodes[rng.below(i)]);
    if (!rig.brain.configure(api(nodes), rig.now)) ++refused;
    rig.tick();
    for (auto& table : holds) {
      if (rng.below(2) == 0) table = rig.brain.table();
    }
    for (std::uint32_t w = 0; w < 2; ++w) {  // each uses its own Table, new or old
      const auto& list = holds[w]->upstreams[0].nodes;
      if (list.empty()) continue;
      const auto ref = list[rng.below(list.size())].ref;
      ASSERT_TRUE(rig.slots.current(ref))
          << "reused while a worker holds a Table with it, round " << round;
      rig.slots.cells(ref, w).attempts.add(1);
      ++counted;
      if (auto token = model::InFlight::acquire(rig.slots.line(ref)))
        held.push_back({ref, std::move(*token)});
      if (w == 0) {
        rig.slots.cells(ref, 0).pooled.add(1);
        pooled.push_back(ref);
      }
    }
    while (held.size() > rng.below(12)) {
      ASSERT_TRUE(rig.slots.current(held.front().ref)) << "reused under a request, round " << round;
      held.erase(held.begin());
    }
    while (pooled.size() > rng.below(12)) {
      ASSERT_TRUE(rig.slots.current(pooled.front()))
          << "reused with an idle connection, round " << round;
      rig.slots.cells(pooled.front(), 0).pooled.add(static_cast<std::uint64_t>(-1));
      pooled.erase(pooled.begin());
    }
    rig.brain.workers_past(std::min(holds[0]->number, holds[1]->number));
  }
  EXPECT_LT(refused, 10000);
  held.clear();
  for (const auto ref : pooled) rig.slots.cells(ref, 0).pooled.add(static_cast<std::uint64_t>(-1));
  const auto total = [&] {
    std::uint64_t sum = rig.brain.gone().attempts;
    for (const auto& view : rig.brain.views(rig.now)) {
      sum += view.gone.attempts;
      for (const auto& n : view.nodes) sum += n.counts.attempts;
    }
    return sum;
  };
  EXPECT_EQ(total(), counted);
  ASSERT_TRUE(rig.brain.configure(api({}), rig.now));
  rig.brain.workers_past(rig.tick().table->number);
  EXPECT_EQ(rig.brain.leaving(), 0U);
  EXPECT_EQ(total(), counted);
  for (std::uint32_t i = 0; i < kCapacity; ++i)
    ASSERT_TRUE(rig.slots.claim()) << "slot " << i << " was lost";
}

}  // namespace
}  // namespace steelyard::control
