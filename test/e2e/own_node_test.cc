// The balancer's own proxy when a node dies under load: no client notices, it is out at once, and
// it comes back carefully.
#include <algorithm>
#include <gtest/gtest.h>

#include "test/e2e/own_support.h"

namespace steelyard::e2e {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

TEST(OwnProxy, AKilledNodeCostsNoRequestIsOutWithinASecondAndComesBackWithARamp) {
  std::vector<std::unique_ptr<NodeProcess>> nodes;
  std::vector<Listed> listed;
  for (const std::string name : {"a", "b", "c", "d"}) {
    nodes.push_back(std::make_unique<NodeProcess>(
        name, std::vector<std::string>{"--service", "2ms", "--cores", "64"}));
    listed.push_back({name, nodes.back()->port()});
  }
  Balancer balancer(
      config(listed, "    health: { cooldown: 1s, slow_start: 3s, trial: { successes: 3 } }\n",
             "workers: 2\n"));
  ASSERT_TRUE(balancer.up()) << balancer.log();
  ASSERT_TRUE(balancer.node_becomes(
      "b", [](const NodeState& n) { return n.state == "usable" && n.ramp >= 1; }, seconds(10)));
  Load load(balancer.port(), 8, 500);
  ASSERT_TRUE(load.wait_for(500));

  const auto killed = steady_clock::now();
  nodes[1]->kill();
  ASSERT_TRUE(
      balancer.node_becomes("b", [](const NodeState& n) { return n.state == "out"; }, seconds(5)));
  EXPECT_LE(steady_clock::now() - killed, seconds(1));
  ASSERT_TRUE(load.wait_for(300)) << "the others go on";
  EXPECT_EQ(balancer.node("b").share_wanted, 0);

  ASSERT_TRUE(nodes[1]->start()) << nodes[1]->log();
  bool trial = false;
  std::vector<double> weights;  // as they grow, each once
  EXPECT_TRUE(balancer.node_becomes(
      "b",
      [&](const NodeState& n) {
        trial = trial || n.state == "trial";
        if (n.state == "usable" && (weights.empty() || n.weight != weights.back())) {
          weights.push_back(n.weight);
        }
        return n.state == "usable" && n.ramp >= 1;
      },
      seconds(15)));
  EXPECT_TRUE(std::is_sorted(weights.begin(), weights.end()));
  EXPECT_GE(weights.size(), 5U) << "it grows in steps";
  EXPECT_LT(weights.front(), 0.5) << "of its full weight, 1";
  EXPECT_EQ(weights.back(), 1);

  const auto totals = load.stop();
  EXPECT_EQ(totals.failed, 0U) << totals.first_failure;
  EXPECT_EQ(totals.refused, 0U);
  EXPECT_EQ(totals.resent, 0U);
  EXPECT_EQ(totals.connects, 8U) << "every client kept its connection";
  const auto changes = balancer.decisions("?node=b&limit=1000");
  const auto told = [&](std::string_view change) {
    return std::ranges::any_of(changes, [&](const auto& d) { return d.change == change; });
  };
  EXPECT_TRUE(trial || told("trial")) << "a trial comes before the ramp";
  for (const auto& d : changes) EXPECT_FALSE(d.reason.empty()) << d.change;
}

TEST(OwnProxy, ARestartThatIsKilledAgainStaysOutLongerAndStillCostsNothing) {
  NodeProcess a("a", {"--service", "1ms", "--cores", "64"});
  NodeProcess b("b", {"--service", "1ms", "--cores", "64"});
  NodeProcess c("c", {"--service", "1ms", "--cores", "64"});
  Balancer balancer(config({{"a", a.port()}, {"b", b.port()}, {"c", c.port()}},
                           "    health: { cooldown: 200ms, slow_start: 300ms }\n"));
  ASSERT_TRUE(balancer.up()) << balancer.log();
  Load load(balancer.port(), 4, 400);
  ASSERT_TRUE(load.wait_for(100));
  for (int round = 0; round < 3; ++round) {
    b.kill();
    ASSERT_TRUE(balancer.node_becomes(
        "b", [](const NodeState& n) { return n.state == "out"; }, seconds(5)))
        << round;
    ASSERT_TRUE(load.wait_for(50)) << round;
    ASSERT_TRUE(b.start()) << b.log();
    ASSERT_TRUE(balancer.node_becomes(
        "b", [](const NodeState& n) { return n.state == "usable"; }, seconds(10)))
        << round;
  }
  const auto totals = load.stop();
  EXPECT_EQ(totals.failed, 0U) << totals.first_failure;
  EXPECT_EQ(totals.resent, 0U);
}

}  // namespace
}  // namespace steelyard::e2e
