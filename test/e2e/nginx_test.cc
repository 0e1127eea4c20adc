// Weights written into a real Nginx, with real traffic through it.
#include <cmath>
#include <gtest/gtest.h>
#include <signal.h>

#include "test/e2e/nginx_support.h"

namespace steelyard::e2e {
namespace {

using apply::State;
using std::chrono::milliseconds;
using std::chrono::seconds;

class NginxEndToEnd : public ::testing::Test {
 protected:
  Backend a_{"a"};
  Backend b_{"b"};
  Backend c_{"c"};

  model::TableUpstream upstream(const std::vector<double>& weights,
                                const std::string& name = "api") {
    model::TableUpstream out{.name = name, .nodes = {}, .panic = false};
    const std::vector<const Backend*> nodes{&a_, &b_, &c_};
    for (std::size_t i = 0; i < weights.size(); ++i) {
      out.nodes.push_back({.name = nodes[i]->name(),
                           .address = base::Address::loopback(nodes[i]->port()),
                           .weight = weights[i],
                           .eligibility = weights[i] > 0 ? model::Eligibility::kUsable
                                                         : model::Eligibility::kDraining});
    }
    return out;
  }
  model::Table table(std::uint64_t number, const std::vector<double>& weights) {
    return {.number = number, .upstreams = {upstream(weights)}};
  }
  // Shares of a, b, c over `n` requests, one after the other.
  std::vector<double> split(std::uint16_t port, int n) {
    Client client(port);
    std::map<std::string, int> hits;
    for (int i = 0; i < n; ++i) {
      const Response r = client.get("/");
      EXPECT_EQ(r.status, 200) << r.error;
      if (r.status != 200) break;
      ++hits[r.body];
    }
    std::vector<double> out;
    for (const char* name : {"a", "b", "c"}) out.push_back(static_cast<double>(hits[name]) / n);
    return out;
  }
};

TEST_F(NginxEndToEnd, TheSplitFollowsTheWeightsAfterEachReload) {
  RealNginx nginx;
  Orchestrator ours({{"api", {.nginx = nginx.options()}}});
  ours.want(table(1, {1, 1, 1}));
  ASSERT_TRUE(wait_until([&] { return ours.status().state == State::kWaiting; }, seconds(20)))
      << ours.status().reason;
  ASSERT_TRUE(nginx.start()) << read_text(nginx.dir / "nginx.log");
  ASSERT_TRUE(ours.applied(1)) << ours.status().reason;
  struct Row {
    std::vector<double> weights, shares;
  };
  const std::vector<Row> rows{{{1, 1, 1}, {1.0 / 3, 1.0 / 3, 1.0 / 3}},
                              {{4, 3, 1}, {0.5, 0.375, 0.125}},
                              {{0.2, 0.8, 0}, {0.2, 0.8, 0}},
                              {{1000, 1, 0}, {1, 0, 0}},
                              {{8, 8, 4}, {0.4, 0.4, 0.2}}};
  std::uint64_t number = 1;
  for (const Row& row : rows) {
    ours.want(table(++number, row.weights));
    ASSERT_TRUE(ours.applied(number)) << ours.status().reason;
    const auto seen = split(nginx.port(), 2000);
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_NEAR(seen[i], row.shares[i], 0.03) << "weights of row " << number << ", node " << i;
    }
    if (row.weights[2] == 0) {
      EXPECT_EQ(seen[2], 0);
    }
    const auto status = ours.status();
    EXPECT_LT(status.drift, 0.01);
    EXPECT_TRUE(status.old_workers);
  }
}

TEST_F(NginxEndToEnd, AHundredChangesInAMinuteLoseNoRequestAndKeepTheGap) {
  RealNginx nginx;
  auto options = nginx.options();
  options.gap = seconds(2);
  Orchestrator ours({{"api", {.nginx = options}}});
  ours.want(table(1, {1, 1, 1}));
  ASSERT_TRUE(wait_until([&] { return ours.status().state == State::kWaiting; }, seconds(20)));
  ASSERT_TRUE(nginx.start());
  ASSERT_TRUE(ours.applied(1));
  const std::size_t before = nginx.reloads();
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> sent{0};
  std::atomic<std::uint64_t> lost{0};
  std::mutex mutex;
  std::string first_loss;
  std::vector<std::thread> clients;
  for (int i = 0; i < 4; ++i) {
    clients.emplace_back([&] {
      Client client(nginx.port());
      while (!stop) {
        const Response r = client.get("/");
        ++sent;
        if (r.status != 200) {
          ++lost;
          const std::lock_guard lock(mutex);
          if (first_loss.empty()) first_loss = std::to_string(r.status) + " " + r.error;
        }
        std::this_thread::sleep_for(milliseconds(4));
      }
    });
  }
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < 100; ++i) {
    ours.want(table(2 + static_cast<std::uint64_t>(i), {1.0 + i, 100.0 - i, 50}));
    std::this_thread::sleep_until(start + milliseconds(600) * (i + 1));
  }
  EXPECT_TRUE(ours.applied(101)) << ours.status().reason;
  stop = true;
  for (auto& t : clients) t.join();
  const auto took = std::chrono::steady_clock::now() - start;
  const std::size_t reloads = nginx.reloads() - before;
  EXPECT_EQ(lost, 0U) << "of " << sent << ", the first: " << first_loss;
  EXPECT_GT(sent, 5000U);
  EXPECT_LE(reloads, static_cast<std::size_t>(took / options.gap) + 1);
  EXPECT_GE(reloads, 15U) << "changes do get through";
  EXPECT_EQ(ours.status().reloads, reloads + 1) << "the very first one loaded Table 1";
  const auto seen = split(nginx.port(), 2000);
  EXPECT_NEAR(seen[0], 100.0 / 151, 0.03);
}

TEST_F(NginxEndToEnd, AFileThatFailsTheTestLeavesTheOldFileAndTheOldSplit) {
  RealNginx nginx;
  Orchestrator ours({{"api", {.nginx = nginx.options()}}});
  ours.want(table(1, {3, 1}));
  ASSERT_TRUE(wait_until([&] { return ours.status().state == State::kWaiting; }, seconds(20)));
  ASSERT_TRUE(nginx.start());
  ASSERT_TRUE(ours.applied(1));
  const std::string before = read_text(nginx.file());
  const std::size_t reloads = nginx.reloads();
  // Somebody else's include breaks the whole configuration.
  write_text(nginx.dir / "conf.d/other.conf", "upstream other { server 127.0.0.1:1 weight=0; }\n");
  ours.want(table(2, {1, 3}));
  ASSERT_TRUE(wait_until([&] { return ours.status().failures > 0; }, seconds(20)));
  EXPECT_EQ(read_text(nginx.file()), before);
  EXPECT_NE(ours.status().last_error.find("weight=0"), std::string::npos)
      << ours.status().last_error;
  EXPECT_NE(ours.status().last_error.find("without this change too"), std::string::npos);
  EXPECT_EQ(nginx.reloads(), reloads);
  EXPECT_NEAR(split(nginx.port(), 2000)[0], 0.75, 0.03);
  std::filesystem::remove(nginx.dir / "conf.d/other.conf");
  ASSERT_TRUE(nginx.test()) << "a restart of Nginx would work";
  ASSERT_TRUE(ours.applied(2)) << "tried again, and applied";
  EXPECT_NEAR(split(nginx.port(), 2000)[0], 0.25, 0.03);
}

TEST_F(NginxEndToEnd, AReloadThatFailsOrIsLostLeavesTheOldFileAndTheOldSplit) {
  for (const std::string reload : {"/bin/false", "/bin/true"}) {
    RealNginx nginx;
    auto options = nginx.options();
    options.verify_timeout = seconds(1);
    {
      Orchestrator ours({{"api", {.nginx = options}}});
      ours.want(table(1, {3, 1}));
      ASSERT_TRUE(wait_until([&] { return ours.status().state == State::kWaiting; }, seconds(20)));
      ASSERT_TRUE(nginx.start());
      ASSERT_TRUE(ours.applied(1));
    }
    const std::string before = read_text(nginx.file());
    options.reload = {reload};
    Orchestrator ours({{"api", {.nginx = options}}});
    ours.want(table(2, {1, 3}));
    ASSERT_TRUE(wait_until([&] { return ours.status().rollbacks > 0; }, seconds(20)));
    EXPECT_EQ(read_text(nginx.file()), before) << reload;
    EXPECT_NEAR(split(nginx.port(), 2000)[0], 0.75, 0.03) << reload;
    EXPECT_EQ(ours.status().applied_table, 0U) << reload;
  }
}

TEST_F(NginxEndToEnd, OldWorkersThatStillServeAreCounted) {
  RealNginx nginx;
  Orchestrator ours({{"api", {.nginx = nginx.options()}}});
  ours.want(table(1, {1, 1}));
  ASSERT_TRUE(wait_until([&] { return ours.status().state == State::kWaiting; }, seconds(20)));
  ASSERT_TRUE(nginx.start());
  ASSERT_TRUE(ours.applied(1));
  a_.delay(seconds(4));
  b_.delay(seconds(4));
  const auto hits = [&] { return a_.hits() + b_.hits(); };
  const auto before = hits();
  std::thread slow([&] {
    Client client(nginx.port(), seconds(10));
    EXPECT_EQ(client.get("/").status, 200) << "the old worker ends its request";
  });
  EXPECT_TRUE(wait_until([&] { return hits() > before; }, seconds(5)));
  ours.want(table(2, {1, 3}));
  EXPECT_TRUE(wait_until([&] { return ours.status().old_workers.value_or(0) == 1; }, seconds(4)));
  slow.join();
  EXPECT_TRUE(wait_until([&] { return ours.status().old_workers.value_or(9) == 0; }, seconds(10)));
}

TEST_F(NginxEndToEnd, CFG_01_IPv6NodesPassTheRealTest) {
  RealNginx nginx;
  Orchestrator ours({{"api", {.nginx = nginx.options()}}});
  model::TableUpstream u{.name = "api", .nodes = {}, .panic = false};
  for (const std::string text : {"[::1]:80", "[2001:db8::a]:8080", "[::ffff:192.0.2.1]:80"}) {
    u.nodes.push_back({.name = "n" + std::to_string(u.nodes.size()),
                       .address = *base::Address::parse(text),
                       .weight = 1});
  }
  ours.want({.number = 1, .upstreams = {u}});
  ASSERT_TRUE(wait_until([&] { return ours.status().state == State::kWaiting; }, seconds(20)))
      << ours.status().reason;
  EXPECT_TRUE(nginx.test());
  EXPECT_NE(read_text(nginx.file()).find("server [2001:db8::a]:8080 "), std::string::npos);
}

TEST_F(NginxEndToEnd, CFG_05_TheLastNodeMayGoAndComeBack) {
  RealNginx nginx;
  Orchestrator ours({{"api", {.nginx = nginx.options()}}});
  ours.want(table(1, {}));
  ASSERT_TRUE(wait_until([&] { return ours.status().state == State::kWaiting; }, seconds(20)));
  ASSERT_TRUE(nginx.start()) << "a first file without any node";
  ASSERT_TRUE(ours.applied(1));
  Client client(nginx.port());
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(client.get("/").status, 502);
  EXPECT_LT(std::chrono::steady_clock::now() - start, seconds(1)) << "at once";
  ours.want(table(2, {1}));
  ASSERT_TRUE(ours.applied(2));
  EXPECT_EQ(client.get("/").status, 200);
  ours.want(table(3, {}));
  ASSERT_TRUE(ours.applied(3));
  EXPECT_TRUE(nginx.test());
  EXPECT_EQ(client.get("/").status, 502);
}

TEST_F(NginxEndToEnd, LeastConnectionsWithKeepaliveIsTheDefaultAndWorks) {
  RealNginx nginx;
  auto options = nginx.options();
  options.balance = apply::NginxOptions().balance;
  Orchestrator ours({{"api", {.nginx = options}}});
  ours.want(table(1, {1, 1}));
  ASSERT_TRUE(wait_until([&] { return ours.status().state == State::kWaiting; }, seconds(20)));
  ASSERT_TRUE(nginx.start());
  ASSERT_TRUE(ours.applied(1));
  EXPECT_NE(read_text(nginx.file()).find("least_conn;\n    keepalive 32;"), std::string::npos);
  const auto seen = split(nginx.port(), 400);
  EXPECT_NEAR(seen[0] + seen[1], 1, 1e-9);
}

}  // namespace
}  // namespace steelyard::e2e
