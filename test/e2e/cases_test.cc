// Troubles that people have met with other balancers, as whole runs of the program: weights.
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>

#include "test/e2e/own_support.h"

namespace steelyard::e2e {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Hits = std::map<std::string, int>;

constexpr const char* kPickers[] = {"round_robin", "smooth_weighted_round_robin", "weighted_random",
                                    "least_connections", "p2c"};

std::string picked_by(const std::string& picker) {
  return "    pick: " + picker + "\n    health: { slow_start: 0s }\n";
}
std::string workers(int count) { return "workers: " + std::to_string(count) + "\n"; }

TEST(Cases, WGT_01_WeightZeroGetsNoRequest) {
  const Backend a("a");
  const Backend b("b");
  const Backend c("c");
  for (const int count : {1, 8}) {
    for (const std::string picker : kPickers) {
      SCOPED_TRACE(picker + ", workers: " + std::to_string(count));
      Balancer balancer(config({{"a", a.port(), 0}, {"b", b.port(), 100}, {"c", c.port(), 100}},
                               picked_by(picker), workers(count)));
      ASSERT_TRUE(balancer.up()) << balancer.log();
      const auto hits = spread(balancer.port(), 2000, 20);
      EXPECT_EQ(hits.count("a"), 0U);
      EXPECT_EQ(hits.at("b") + hits.at("c"), 2000);
      EXPECT_EQ(a.hits(), 0U) << "nor a request that nobody saw the answer of";
      EXPECT_EQ(balancer.node("a").attempts, 0U);
      EXPECT_EQ(balancer.node("a").state, "draining");
    }
  }
}

TEST(Cases, WGT_06_FirstPicksOfFreshProcessesFollowTheWeights) {
  const Backend a("a");
  const Backend b("b");
  const std::string text = config({{"a", a.port(), 3}, {"b", b.port(), 1}},
                                  picked_by("smooth_weighted_round_robin"), workers(1));
  constexpr int kProcesses = 60;
  Hits hits;
  for (int i = 0; i < kProcesses; ++i) {
    Balancer balancer(text);
    ASSERT_TRUE(balancer.up()) << balancer.log();
    for (const auto& [name, n] : spread(balancer.port(), 1, 1)) hits[name] += n;
  }
  // 45 expected, standard deviation 3.4: four of them each way. Always the heavy one would be 60.
  EXPECT_EQ(hits["a"] + hits["b"], kProcesses);
  EXPECT_GE(hits["a"], 31);
  EXPECT_LE(hits["a"], 58);
}

TEST(Cases, WGT_11_AWeightOnlyChangeTakesEffectAtOnceBothWays) {
  const Backend a("a");
  const Backend b("b");
  for (const int count : {1, 4}) {
    SCOPED_TRACE(count);
    Balancer balancer(config({{"a", a.port(), 1}, {"b", b.port(), 1}},
                             picked_by("smooth_weighted_round_robin"), workers(count)));
    ASSERT_TRUE(balancer.up()) << balancer.log();
    const auto share_is = [&](int expected) {
      const auto hits = spread(balancer.port(), 100, 10);
      EXPECT_NEAR(hits.at("a"), expected, count) << "each worker's rotation is exact within one";
      EXPECT_EQ(hits.at("a") + hits.at("b"), 100);
    };
    share_is(50);
    ASSERT_EQ(balancer.adjust("a", 9).status, 200);
    share_is(90);
    ASSERT_EQ(balancer.adjust("a", 1).status, 200);
    share_is(50);
  }
}

TEST(Cases, WGT_12_ARecoveredNodeHasTheWeightLastAskedFor) {
  Backend a("a");
  const Backend b("b");
  Balancer balancer(config({{"a", a.port(), 1000}, {"b", b.port(), 1}},
                           "    pick: smooth_weighted_round_robin\n    health: { slow_start: 0s, "
                           "cooldown: 100ms, active: { http: {}, "
                           "interval: 50ms, fall: 3, rise: 2 } }\n"));
  ASSERT_TRUE(balancer.up()) << balancer.log();
  const auto falls_out = [&] {
    a.status(500);
    return balancer.node_becomes(
        "a", [](const NodeState& n) { return n.state == "out"; }, seconds(10));
  };
  const auto recovers = [&] {
    a.status(200);
    return balancer.node_becomes(
        "a", [](const NodeState& n) { return n.state == "usable"; }, seconds(10));
  };
  const auto share_of_a = [&] { return spread(balancer.port(), 1000, 4)["a"]; };
  EXPECT_GE(share_of_a(), 990);

  ASSERT_TRUE(falls_out());
  EXPECT_NE(balancer.node("a").reason.find("3 checks failed in a row"), std::string::npos)
      << balancer.node("a").reason;
  EXPECT_EQ(spread(balancer.port(), 50, 1), (Hits{{"b", 50}}));
  ASSERT_TRUE(recovers());
  EXPECT_GE(share_of_a(), 990) << "the weight it had";

  ASSERT_TRUE(falls_out());
  ASSERT_EQ(balancer.adjust("a", 500).status, 200);
  ASSERT_EQ(balancer.adjust("b", 500).status, 200);
  EXPECT_EQ(balancer.node("a").state, "out") << "a weight is no health";
  EXPECT_EQ(spread(balancer.port(), 50, 1), (Hits{{"b", 50}}));
  ASSERT_TRUE(recovers());
  EXPECT_NEAR(share_of_a(), 500, 4) << "the one asked for while it was out";
}

TEST(Cases, WGT_13_WhatTheApiShowsIsWhatThePickersUse) {
  const Backend a("a");
  const Backend b("b");
  Balancer balancer(config({{"a", a.port(), 1}, {"b", b.port(), 1}},
                           picked_by("smooth_weighted_round_robin"), workers(4)));
  ASSERT_TRUE(balancer.up()) << balancer.log();
  Load load(balancer.port(), 4, 200);
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < 10; ++i) clients.push_back(std::make_unique<Client>(balancer.port()));
  int wrong = 0;
  for (int i = 0; (i < 300 || load.good() < 200) && wrong == 0; ++i) {
    const std::string heavy = i % 2 == 0 ? "a" : "b";
    const std::string light = i % 2 == 0 ? "b" : "a";
    ASSERT_EQ(balancer.adjust(heavy, 999'999).status, 200) << i;
    ASSERT_EQ(balancer.adjust(light, 0).status, 200) << i;
    for (const auto& node : balancer.nodes()) {
      EXPECT_EQ(node.weight, node.name == heavy ? 999'999 : 0) << i;
    }
    for (std::size_t n = 0; n < 20; ++n) {
      const Response answer = clients[n % clients.size()]->get("/");
      if (answer.body != heavy) ++wrong;
      EXPECT_EQ(answer.body, heavy) << "change " << i << ", request " << n << " " << answer.error;
    }
  }
  const auto totals = load.stop();
  EXPECT_EQ(totals.failed, 0U) << totals.first_failure;
  EXPECT_EQ(totals.resent, 0U);
  EXPECT_GE(totals.good, 200U);
}

TEST(Cases, WGT_14_ManyWorkersDoNotMarchInStep) {
  std::vector<std::unique_ptr<Backend>> backends;
  std::vector<Listed> listed;
  for (int i = 0; i < 10; ++i) {
    backends.push_back(std::make_unique<Backend>("n" + std::to_string(i)));
    listed.push_back({backends.back()->name(), backends.back()->port()});
  }
  for (const std::string picker : {"round_robin", "smooth_weighted_round_robin"}) {
    SCOPED_TRACE(picker);
    Balancer balancer(config(listed, picked_by(picker), workers(16)));
    ASSERT_TRUE(balancer.up()) << balancer.log();
    const auto check = [&](const std::string& when) {
      SCOPED_TRACE(when);
      Hits all;
      Hits slice;
      for (int i = 0; i < 160; ++i) {
        const Response answer = Client(balancer.port()).get("/");
        ASSERT_EQ(answer.status, 200) << answer.error;
        ++all[answer.body];
        ++slice[answer.body];
        if (i % 50 == 49) {
          for (const auto& [name, n] : slice) EXPECT_LE(n, 20) << name << ", up to request " << i;
          slice.clear();
        }
      }
      EXPECT_EQ(all.size(), 10U);
      for (const auto& [name, n] : all) {
        EXPECT_GE(n, 6) << name;
        EXPECT_LE(n, 26) << name;
      }
    };
    check("right after the start");
    for (int i = 0; i < 5; ++i) ASSERT_TRUE(balancer.reload()) << balancer.log();
    check("after five reloads");
  }
}

TEST(Cases, WGT_17_ANodeWithoutAWeightStaysInThePool) {
  const Backend a("a");
  const Backend b("b");
  Balancer balancer(config({{"a", a.port(), 3}, {"b", b.port()}},
                           picked_by("smooth_weighted_round_robin"), workers(1)));
  ASSERT_TRUE(balancer.up()) << balancer.log();
  const std::string log = balancer.log();
  EXPECT_NE(log.find("steelyard.yaml:8:9: warning: upstreams.api.nodes[1]: has no weight while "
                     "others have one, so it gets 1"),
            std::string::npos)
      << log;
  EXPECT_EQ(log.find("has no weight"), log.rfind("has no weight")) << "told once";
  EXPECT_EQ(spread(balancer.port(), 40, 1), (Hits{{"a", 30}, {"b", 10}}));

  std::string bad = config({{"a", a.port(), 3}, {"b", b.port()}});
  bad.replace(bad.find("weight: 3"), 9, "weight: x");
  EXPECT_FALSE(balancer.reload(bad));
  EXPECT_NE(balancer.log().find("upstreams.api.nodes[0].weight: "), std::string::npos)
      << balancer.log();
  EXPECT_EQ(balancer.nodes().size(), 2U);
  EXPECT_EQ(balancer.node("b").weight, 1);
}

}  // namespace
}  // namespace steelyard::e2e
