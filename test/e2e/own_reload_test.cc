// Reload by HUP and stopping by TERM, under load: nothing is lost, nothing half-applies.
#include <algorithm>
#include <cstdlib>
#include <gtest/gtest.h>
#include <signal.h>

#include "test/e2e/own_support.h"
#include "test/integration/net.h"
#include "test/paths.h"

namespace steelyard::e2e {
namespace {

using integration::Socket;
using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

// Two listeners at most, nodes with weights.
std::string two_listeners(std::uint16_t second, const std::vector<Listed>& nodes,
                          const std::string& top = "") {
  std::string more;
  if (second != 0) {
    more =
        "  - address: 127.0.0.1:" + std::to_string(second) + "\n    routes: [{ upstream: api }]\n";
  }
  return "listeners:\n  - address: 127.0.0.1:0\n    routes: [{ upstream: api }]\n" + more +
         "upstreams:\n  api:\n" + nodes_line(nodes) + "    pick: smooth_weighted_round_robin\n" +
         "    health: { slow_start: 0s }\n" + top + admin_section();
}

class OwnReload : public ::testing::Test {
 protected:
  Backend a_{"a"};
  Backend b_{"b"};
  Backend c_{"c"};
  Listed a(double weight) const { return {"a", a_.port(), weight}; }
  Listed b(double weight) const { return {"b", b_.port(), weight}; }
  Listed c(double weight) const { return {"c", c_.port(), weight}; }
};

TEST_F(OwnReload, TwentyReloadsUnderLoadLoseNothingAndKeepEveryConnection) {
  Balancer balancer(two_listeners(0, {a(1), b(1)}, "workers: 2\n"));
  ASSERT_TRUE(balancer.up()) << balancer.log();
  const auto second = free_port();
  Load load(balancer.port(), 8, 500);
  ASSERT_TRUE(load.wait_for(100));
  for (int i = 0; i < 20; ++i) {
    const bool listens = i % 2 == 0;
    const bool three = i % 3 != 0;
    std::vector<Listed> nodes{a(1.0 + i), b(2)};
    if (three) nodes.push_back(c(3));
    ASSERT_TRUE(balancer.reload(two_listeners(listens ? second : 0, nodes, "workers: 2\n")))
        << i << balancer.log();
    EXPECT_EQ(balancer.nodes().size(), nodes.size()) << i;
    EXPECT_EQ(balancer.node("a").base, 1.0 + i);
    Client client(second);
    if (listens) {
      EXPECT_EQ(client.get("/").status, 200) << i;
    } else {
      EXPECT_TRUE(wait_until([&] { return Client(second).get("/").error.starts_with("connect"); },
                             seconds(5)))
          << "a removed listener refuses, reload " << i;
    }
    ASSERT_TRUE(load.wait_for(10)) << i;
  }
  const auto totals = load.stop();
  EXPECT_EQ(totals.failed, 0U) << totals.first_failure;
  EXPECT_EQ(totals.refused, 0U);
  EXPECT_EQ(totals.resent, 0U);
  EXPECT_EQ(totals.connects, 8U) << "connections are kept over reloads";
  EXPECT_EQ(balancer.metric("steelyard_config_reloads_total{result=\"success\"}"), 20);
  EXPECT_EQ(balancer.metric("steelyard_config_last_reload_successful"), 1);
}

TEST_F(OwnReload, ABrokenFileChangesNothingAtAll) {
  const auto second = free_port();
  Balancer balancer(two_listeners(0, {a(3), b(1)}));
  ASSERT_TRUE(balancer.up()) << balancer.log();
  const auto unchanged = [&](const std::string& what) {
    SCOPED_TRACE(what);
    EXPECT_EQ(balancer.metric("steelyard_config_last_reload_successful"), 0);
    ASSERT_EQ(balancer.nodes().size(), 2U);
    EXPECT_EQ(balancer.node("a").weight, 3);
    EXPECT_EQ(balancer.node("b").weight, 1);
    EXPECT_TRUE(Client(second).get("/").error.starts_with("connect")) << "no new listener";
    const auto seen = spread(balancer.port(), 40, 1);
    EXPECT_EQ(seen, (std::map<std::string, int>{{"a", 30}, {"b", 10}}));
  };
  // Each wants another listener and other weights too, and is wrong somewhere.
  const std::string good = two_listeners(second, {a(1), b(3), c(1)});
  const Backend taken("taken");
  const std::vector<std::pair<std::string, std::string>> broken{
      {"a misspelt key", good + "workrs: 3\n"},
      {"cut off", good.substr(0, good.size() / 2) + "{"},
      {"not YAML", "\t:::\n"},
      {"empty", ""},
      {"a listener that cannot be bound", two_listeners(taken.port(), {a(1), b(3)})},
      {"an admin address that cannot be bound",
       two_listeners(second, {a(1), b(3)}).substr(0, good.find("admin:")) +
           "admin: { address: 127.0.0.1:" + std::to_string(taken.port()) + " }\n"},
      {"a network that is none", good.substr(0, good.find("admin:")) +
                                     "admin: { address: 127.0.0.1:0, allow: [10.0.0.0/99] }\n"},
  };
  for (const auto& [what, text] : broken) {
    EXPECT_FALSE(balancer.reload(text)) << what;
    unchanged(what);
  }
  std::filesystem::remove(balancer.file());
  EXPECT_FALSE(balancer.reload()) << "no file at all";
  unchanged("no file at all");
  EXPECT_EQ(balancer.metric("steelyard_config_reloads_total{result=\"failure\"}"),
            static_cast<double>(broken.size() + 1));
  EXPECT_EQ(balancer.adjust("a", 5).status, 200) << "the keys are still there";

  ASSERT_TRUE(balancer.reload(good)) << balancer.log();
  EXPECT_EQ(balancer.metric("steelyard_config_last_reload_successful"), 1);
  EXPECT_EQ(balancer.nodes().size(), 3U);
  EXPECT_EQ(Client(second).get("/").status, 200);
}

TEST_F(OwnReload, NoneOfTheBrokenFilesOfTheGoldenTestsStopsItOrHalfApplies) {
  Balancer balancer(two_listeners(0, {a(3), b(1)}));
  ASSERT_TRUE(balancer.up()) << balancer.log();
  int broken = 0;
  const std::string golden = test::source_path("test/golden/config");
  for (const auto& entry : std::filesystem::directory_iterator(golden)) {
    if (entry.path().extension() != ".yaml") continue;
    SCOPED_TRACE(entry.path().filename());
    ++broken;
    ASSERT_FALSE(balancer.reload(read_text(entry.path()))) << balancer.log();
    ASSERT_EQ(balancer.nodes().size(), 2U);
    EXPECT_EQ(balancer.node("a").weight, 3);
    EXPECT_EQ(balancer.node("b").weight, 1);
  }
  EXPECT_GE(broken, 30);
  EXPECT_EQ(spread(balancer.port(), 40, 1), (std::map<std::string, int>{{"a", 30}, {"b", 10}}));
  EXPECT_EQ(balancer.metric("steelyard_config_reloads_total{result=\"failure\"}"), broken);
}

TEST_F(OwnReload, TermUnderLoadAnswersEveryRequestThatWasTaken) {
  a_.delay(milliseconds(5));
  b_.delay(milliseconds(5));
  Balancer balancer(two_listeners(0, {a(1), b(1)}, "workers: 2\ndrain: { idle: 500ms }\n"));
  ASSERT_TRUE(balancer.up()) << balancer.log();
  Load load(balancer.port(), 16, 800);
  load.end_when_refused();
  ASSERT_TRUE(load.wait_for(400));
  // Connections with a request each, made and at once forgotten by us: some are accepted, some wait
  // in the queue when TERM comes.
  std::vector<Socket> queued;
  for (int i = 0; i < 64; ++i) {
    queued.push_back(Socket::connect(balancer.port()));
    ASSERT_TRUE(queued.back().valid());
    ASSERT_TRUE(queued.back().send("GET /queued HTTP/1.1\r\nHost: q\r\n\r\n"));
  }
  balancer.process().signal(SIGTERM);
  for (auto& socket : queued) {
    const auto answer = socket.read(false);
    ASSERT_TRUE(answer.has_value());
    EXPECT_EQ(answer->status(), 200);
  }
  EXPECT_EQ(balancer.process().wait(seconds(20)), 0) << balancer.log();
  const auto totals = load.join();
  EXPECT_EQ(totals.failed, 0U) << totals.first_failure;
  EXPECT_EQ(totals.resent, 0U) << "kept connections are told by Connection: close";
  EXPECT_NE(balancer.log().find(" stopped"), std::string::npos);
  // All that was answered is in the last word of the engine.
  const auto log = balancer.log();
  const auto served = log.find(" served requests=");
  ASSERT_NE(served, std::string::npos) << log;
  EXPECT_GE(std::atoll(log.c_str() + served + 17), static_cast<long long>(totals.good + 64));
}

TEST_F(OwnReload, WhileItDrainsItSaysSoAndTakesNoNewConnection) {
  NodeProcess slow("slow", {"--service", "1ms"});
  ASSERT_EQ(slow.control(R"({"hang": true})").status, 200);
  const auto second = free_port();
  Balancer balancer(two_listeners(second, {{"slow", slow.port(), 1}}, "drain: { idle: 100ms }\n"));
  ASSERT_TRUE(balancer.up()) << balancer.log();
  EXPECT_TRUE(wait_until([&] { return balancer.get("/readyz").status == 200; }, seconds(5)));
  Socket waiting = Socket::connect(balancer.port());
  ASSERT_TRUE(waiting.send("GET /slow HTTP/1.1\r\nHost: q\r\n\r\n"));
  ASSERT_TRUE(
      wait_until([&] { return balancer.metric("steelyard_http_exchanges") == 1; }, seconds(5)));
  balancer.process().signal(SIGTERM);
  ASSERT_TRUE(wait_until([&] { return balancer.get("/readyz").status == 503; }, seconds(5)));
  EXPECT_NE(balancer.get("/readyz").body.find("FAIL accepting: draining"), std::string::npos);
  EXPECT_EQ(balancer.get("/healthz").status, 200) << "alive it is";
  EXPECT_NE(Client(balancer.port()).get("/").status, 200);
  // Who asks is refused at once and may go elsewhere; it need not wait for the drain's end.
  EXPECT_TRUE(wait_until([&] { return integration::refuses(second); }, seconds(5)));
  ASSERT_EQ(slow.control(R"({"hang": false})").status, 200);
  const auto answer = waiting.read(false);
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->status(), 200);
  EXPECT_EQ(answer->field("connection"), "close");
  EXPECT_EQ(balancer.process().wait(seconds(10)), 0);
}

// What the process wrote itself, in KiB.
long written_kib(pid_t pid) {
  const auto text = read_text("/proc/" + std::to_string(pid) + "/smaps_rollup");
  const auto at = text.find("Private_Dirty:");
  return at == text.npos ? -1 : std::atol(text.c_str() + at + 14);
}

std::string and_upstreams(const Listed& node, int more) {
  std::string out = config({node}, "", "workers: 1\n");
  std::string others;
  for (int i = 0; i < more; ++i) {
    others += "  other" + std::to_string(i) + ":\n" + nodes_line({node});
  }
  const std::string mark = "upstreams:\n";
  return out.insert(out.find(mark) + mark.size(), others);
}

TEST_F(OwnReload, ALargeConfigurationLeavesLittleMemoryBehind) {
#if defined(__SANITIZE_ADDRESS__)
  constexpr long kMost = 400 << 10;  // freed memory stays in the sanitizer's quarantine
#else
  constexpr long kMost = 8 << 10;
#endif
  // Two rounds: the first leaves 4,096 decisions in the history and a slot for each node, which are
  // bounded and stay.
  constexpr int kMany = 2000;
  Balancer balancer(and_upstreams(a(1), 0));
  ASSERT_TRUE(balancer.up()) << balancer.log();
  const auto before = written_kib(balancer.engine());
  ASSERT_GT(before, 0);
  for (int round = 0; round < 2; ++round) {
    ASSERT_TRUE(balancer.reload(and_upstreams(a(1), kMany))) << balancer.log();
    const auto large = written_kib(balancer.engine());
    EXPECT_GT(large, before + (20 << 10)) << "or the bound below says nothing";
    ASSERT_TRUE(balancer.reload(and_upstreams(a(1), 0))) << balancer.log();
    long left = 0;
    EXPECT_TRUE(wait_until(
        [&] {
          left = written_kib(balancer.engine()) - before;
          return left <= kMost;
        },
        seconds(10)))
        << left << " KiB more than before, in round " << round;
  }
  EXPECT_EQ(Client(balancer.port()).get("/").status, 200);
}

TEST_F(OwnReload, ASecondTermStopsAtOnce) {
  NodeProcess slow("slow", {"--service", "1ms"});
  ASSERT_EQ(slow.control(R"({"hang": true})").status, 200);
  Balancer balancer(two_listeners(0, {{"slow", slow.port(), 1}}));
  ASSERT_TRUE(balancer.up()) << balancer.log();
  Socket waiting = Socket::connect(balancer.port());
  ASSERT_TRUE(waiting.send("GET /slow HTTP/1.1\r\nHost: q\r\n\r\n"));
  ASSERT_TRUE(
      wait_until([&] { return balancer.metric("steelyard_http_exchanges") == 1; }, seconds(5)));
  balancer.process().signal(SIGTERM);
  EXPECT_TRUE(wait_until([&] { return balancer.log().find(" draining") != std::string::npos; },
                         seconds(5)));
  balancer.process().signal(SIGTERM);  // a stop may come as two signals
  EXPECT_EQ(balancer.process().wait(milliseconds(1200)), -1) << "it waits for the request";
  const auto again = steady_clock::now();
  balancer.process().signal(SIGTERM);
  EXPECT_EQ(balancer.process().wait(seconds(5)), 0);
  EXPECT_LT(steady_clock::now() - again, seconds(1));
  EXPECT_EQ(balancer.said(" drain_cut connections=1 requests=1 tunnels=0 "), 1U) << balancer.log();
}

TEST_F(OwnReload, AStopSaysWhatItCutShort) {
  NodeProcess slow("slow", {"--service", "1ms"});
  ASSERT_EQ(slow.control(R"({"hang": true})").status, 200);
  for (const std::size_t cut : {3U, 0U}) {
    Balancer balancer(
        two_listeners(0, {{"slow", slow.port(), 1}}, "drain: { idle: 50ms, limit: 200ms }\n"));
    ASSERT_TRUE(balancer.up()) << balancer.log();
    std::vector<Socket> clients;
    for (std::size_t i = 0; i < cut + 1; ++i) {
      clients.push_back(Socket::connect(balancer.port()));
      if (i == cut) break;  // this one loses nothing
      ASSERT_TRUE(clients.back().send("GET /slow HTTP/1.1\r\nHost: q\r\n\r\n"));
    }
    ASSERT_TRUE(
        wait_until([&] { return balancer.metric("steelyard_http_exchanges") == cut; }, seconds(5)));
    balancer.process().signal(SIGTERM);
    EXPECT_EQ(balancer.process().wait(seconds(5)), 0);
    EXPECT_EQ(balancer.said(" drain_cut connections=3 requests=3 tunnels=0 "), cut > 0 ? 1U : 0U)
        << balancer.log();
    EXPECT_EQ(balancer.said(" drain_cut "), cut > 0 ? 1U : 0U);
  }
}

TEST_F(OwnReload, TheHabitsOfNginxWorkThroughThePidFile) {
  const TempDir dir;
  const std::string pid_file = dir / "steelyard.pid";
  const auto text = [&](double weight) {
    return two_listeners(0, {a(weight), b(1)},
                         "pid_file: " + pid_file + "\ndrain: { idle: 100ms }\n");
  };
  Balancer balancer(text(1));
  ASSERT_TRUE(balancer.up()) << balancer.log();
  EXPECT_EQ(read_text(pid_file), std::to_string(balancer.process().pid()) + "\n");
  const auto ours = [&](std::vector<std::string> more) {
    more.insert(more.begin(), test::binary());
    more.insert(more.end(), {"-c", balancer.file()});
    return run(more, dir / "out");
  };
  EXPECT_EQ(ours({"-t"}), 0);
  EXPECT_NE(read_text(dir / "out").find("test is successful"), std::string::npos);
  balancer.write(text(7));
  EXPECT_EQ(ours({"-s", "reload"}), 0) << read_text(dir / "out");
  EXPECT_TRUE(
      balancer.node_becomes("a", [](const NodeState& n) { return n.weight == 7; }, seconds(5)));
  balancer.write(text(9) + "nonsense: 1\n");
  EXPECT_EQ(ours({"-t"}), 1);
  EXPECT_NE(read_text(dir / "out").find("test failed"), std::string::npos);
  EXPECT_EQ(ours({"-s", "reload"}), 1) << "a broken file is not even sent";
  EXPECT_EQ(balancer.node("a").weight, 7);
  EXPECT_EQ(ours({"-s", "sideways"}), 2);
  balancer.write(text(7));
  EXPECT_EQ(ours({"-s", "stop"}), 0);
  EXPECT_EQ(balancer.process().wait(seconds(10)), 0);
  EXPECT_FALSE(std::filesystem::exists(pid_file));
  EXPECT_EQ(ours({"-s", "reload"}), 1) << "nobody there";
}

}  // namespace
}  // namespace steelyard::e2e
