// Processes that die: the engine under its supervisor, and the supervisor above its engine.
#include <gtest/gtest.h>
#include <signal.h>

#include "test/e2e/own_support.h"
#include "test/integration/net.h"

namespace steelyard::e2e {
namespace {

using integration::Socket;
using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

// Ports that stay, so that another process can want the same.
std::string fixed(std::uint16_t port, std::uint16_t admin, const std::vector<Listed>& nodes,
                  const std::string& top = "") {
  return "listeners:\n  - address: 127.0.0.1:" + std::to_string(port) +
         "\n    routes: [{ upstream: api }]\nupstreams:\n  api:\n" + nodes_line(nodes) + top +
         "admin: { address: 127.0.0.1:" + std::to_string(admin) +
         admin_section().substr(admin_section().find(", keys"));
}

class OwnCrash : public ::testing::Test {
 protected:
  Backend a_{"a"};
  Backend b_{"b"};
  std::vector<Listed> both() const { return {{"a", a_.port(), 1}, {"b", b_.port(), 1}}; }
};

TEST_F(OwnCrash, F42_AnEngineThatCrashesIsReplacedAndNoConnectIsRefused) {
  Balancer balancer(config(both(), "", "workers: 2\n"));
  ASSERT_TRUE(balancer.up()) << balancer.log();
  const pid_t first = balancer.engine();
  ASSERT_GT(first, 0) << balancer.log();
  EXPECT_NE(first, balancer.process().pid());
  std::vector<Socket> clients;
  const auto connect = [&](int count) {
    for (int i = 0; i < count; ++i) {
      clients.push_back(Socket::connect(balancer.port()));
      ASSERT_TRUE(clients.back().valid()) << "refused";
      ASSERT_TRUE(clients.back().send("POST /p HTTP/1.1\r\nHost: q\r\nContent-Length: 0\r\n\r\n"));
    }
  };
  connect(50);
  const auto crashed = steady_clock::now();
  ASSERT_EQ(::kill(first, SIGSEGV), 0);
  connect(50);  // while it tells its stack: its workers may accept them still, and break them
  const auto broken = clients.size();
  ASSERT_TRUE(balancer.says(" engine_crashed "));
  connect(100);
  for (std::size_t i = broken; i < clients.size(); ++i) {
    const auto answer = clients[i].read(false);
    ASSERT_TRUE(answer.has_value()) << i;
    EXPECT_EQ(answer->status(), 200);
  }
  const auto outage = steady_clock::now() - crashed;
  EXPECT_LE(a_.hits() + b_.hits(), clients.size()) << "a POST was sent twice";
  EXPECT_LE(outage, seconds(1));
  EXPECT_TRUE(balancer.says(" engine_serves ", 2));
  EXPECT_NE(balancer.engine(), first);
  EXPECT_EQ(balancer.said("crash: SIGSEGV in thread "), 1U) << "its stack";
  EXPECT_EQ(balancer.said(" engine_crashed pid=" + std::to_string(first)), 1U);
  EXPECT_EQ(Client(balancer.port()).get("/").status, 200);
  balancer.process().signal(SIGTERM);
  EXPECT_EQ(balancer.process().wait(seconds(10)), 0) << balancer.log();
}

TEST_F(OwnCrash, F42_WhatWasLearnedIsRestored) {
  Backend late("late");
  const auto nobody = free_port();
  const auto nodes = [&](bool with_late) {
    auto all = both();
    all.push_back({"dead", nobody, 1});
    if (with_late) all.push_back({"late", late.port(), 1});
    return config(all,
                  "    health: { passive: { consecutive_failures: 1 }, cooldown: 60s, "
                  "slow_start: 60s }\n");
  };
  Balancer balancer(nodes(false));
  ASSERT_TRUE(balancer.up()) << balancer.log();
  ASSERT_EQ(balancer.adjust("a", 7).status, 200);
  ASSERT_TRUE(wait_until(
      [&] {
        (void)Client(balancer.port()).get("/");
        return balancer.node("dead").state == "out";
      },
      seconds(5)));
  ASSERT_TRUE(balancer.reload(nodes(true)));
  ASSERT_TRUE(balancer.node_becomes(
      "late", [](const NodeState& n) { return n.ramp > 0 && n.ramp < 1; }, seconds(5)));
  const double ramp = balancer.node("late").ramp;
  // The state is rewritten once a second when nothing moves.
  ASSERT_EQ(balancer.adjust("b", 3).status, 200);

  ASSERT_EQ(::kill(balancer.engine(), SIGSEGV), 0);
  ASSERT_TRUE(balancer.says(" engine_serves ", 2));
  EXPECT_EQ(balancer.said(" state_restored "), 1U);
  const auto port = balancer.log().rfind("admin url=http://127.0.0.1:");
  ASSERT_NE(port, std::string::npos);
  EXPECT_EQ(balancer.node("a").override_weight, 7) << "also the port of the API is the same";
  EXPECT_EQ(balancer.node("b").override_weight, 3);
  EXPECT_EQ(balancer.node("dead").state, "out") << balancer.log();
  const double after = balancer.node("late").ramp;
  EXPECT_GE(after, ramp * 0.9);
  EXPECT_LT(after, 1);
}

TEST_F(OwnCrash, F42_CrashesInARowAreHeldBack) {
  Balancer balancer(config(both()));
  ASSERT_TRUE(balancer.up()) << balancer.log();
  for (std::size_t i = 1; i <= 6; ++i) {
    const pid_t engine = balancer.engine();
    ASSERT_EQ(::kill(engine, SIGKILL), 0);
    ASSERT_TRUE(balancer.says(" engine_serves ", i + 1)) << balancer.log();
    EXPECT_EQ(balancer.said(" engine_held_back "), i == 6 ? 1U : 0U) << i;
  }
  EXPECT_EQ(Client(balancer.port()).get("/").status, 200);
  balancer.process().signal(SIGTERM);
  EXPECT_EQ(balancer.process().wait(seconds(10)), 0);
}

TEST_F(OwnCrash, F43_TheEngineServesOnAndANewSupervisorTakesOver) {
  const TempDir dir;
  const auto port = free_port();
  const auto text = fixed(port, free_port(), both(), "workers: 2\ndrain: { idle: 200ms }\n");
  write_text(dir / "conf.yaml", text);
  auto first = std::make_unique<Balancer>(text);
  ASSERT_TRUE(first->up()) << first->log();
  ASSERT_EQ(first->adjust("a", 7).status, 200);
  const pid_t orphan = first->engine();
  Load load(port, 8, 400);
  ASSERT_TRUE(load.wait_for(50));
  first->process().signal(SIGKILL);
  EXPECT_EQ(first->process().wait(seconds(5)), 128 + SIGKILL);
  EXPECT_TRUE(first->says(" supervisor_lost "));
  ASSERT_TRUE(load.wait_for(50)) << "it serves on";
  EXPECT_EQ(first->metric("steelyard_supervisor_connected"), 0);

  Balancer second(text);
  ASSERT_TRUE(second.up()) << second.log();
  EXPECT_EQ(second.said(" engine_found pid=" + std::to_string(orphan)), 1U) << second.log();
  EXPECT_EQ(second.node("a").override_weight, 7);
  EXPECT_TRUE(second.says(" engine_drained pid=" + std::to_string(orphan))) << first->log();
  EXPECT_EQ(::kill(orphan, 0), -1) << "one engine is left";
  ASSERT_TRUE(load.wait_for(50));
  const auto totals = load.stop();
  EXPECT_EQ(totals.failed, 0U) << totals.first_failure;
  EXPECT_EQ(totals.refused, 0U) << totals.first_failure;
  EXPECT_EQ(second.metric("steelyard_supervisor_connected"), 1);
  second.process().signal(SIGTERM);
  EXPECT_EQ(second.process().wait(seconds(10)), 0) << second.log();
}

TEST_F(OwnCrash, F43_AnEngineWithoutASupervisorIsReachedThroughThePidFile) {
  const TempDir dir;
  const std::string pid_file = dir / "steelyard.pid";
  const auto text = [&](double weight) {
    return config({{"a", a_.port(), weight}, {"b", b_.port(), 1}}, "",
                  "pid_file: " + pid_file + "\ndrain: { idle: 100ms }\n");
  };
  Balancer first(text(1));
  ASSERT_TRUE(first.up()) << first.log();
  const pid_t orphan = first.engine();
  EXPECT_EQ(read_text(pid_file), std::to_string(first.process().pid()) + "\n");
  first.process().signal(SIGKILL);
  (void)first.process().wait(seconds(5));
  ASSERT_TRUE(first.says(" supervisor_lost "));
  EXPECT_EQ(read_text(pid_file), std::to_string(orphan) + "\n");
  EXPECT_EQ(run({test::binary(), "-s", "upgrade", "-c", first.file()}, dir / "said"), 1);
  EXPECT_NE(read_text(dir / "said").find("its supervisor is gone, which an upgrade needs; start "),
            std::string::npos)
      << read_text(dir / "said");
  EXPECT_EQ(first.said(" signal_ignored "), 0U) << "nothing was sent";
  ASSERT_EQ(::kill(orphan, SIGUSR2), 0);
  EXPECT_TRUE(first.says(" signal_ignored number=12 signal=USR2 text=\"its supervisor is gone, "))
      << first.log();
  first.write(text(5));
  ASSERT_EQ(::kill(orphan, SIGHUP), 0);
  EXPECT_TRUE(first.node_becomes("a", [](const NodeState& n) { return n.base == 5; }, seconds(5)));

  // Another port, but the same pid file: there must not be two.
  Balancer second(text(5));
  ASSERT_TRUE(second.up()) << second.log();
  EXPECT_TRUE(second.says(" engine_drained pid=" + std::to_string(orphan))) << first.log();
  EXPECT_EQ(read_text(pid_file), std::to_string(second.process().pid()) + "\n");
  second.process().signal(SIGTERM);
  EXPECT_EQ(second.process().wait(seconds(10)), 0);
  EXPECT_FALSE(std::filesystem::exists(pid_file));
}

TEST_F(OwnCrash, F43_TermEndsAnEngineThatHasNoSupervisor) {
  Balancer balancer(config(both(), "", "drain: { idle: 100ms }\n"));
  ASSERT_TRUE(balancer.up()) << balancer.log();
  const pid_t orphan = balancer.engine();
  balancer.process().signal(SIGKILL);
  (void)balancer.process().wait(seconds(5));
  ASSERT_TRUE(balancer.says(" supervisor_lost "));
  ASSERT_EQ(::kill(orphan, SIGTERM), 0);
  EXPECT_TRUE(wait_until([&] { return ::kill(orphan, 0) != 0; }, seconds(10)));
}

TEST_F(OwnCrash, F39_AnEngineThatIsStoppedForAWhileIsNotTakenForStuck) {
  Balancer balancer(config(both()));
  ASSERT_TRUE(balancer.up()) << balancer.log();
  const pid_t engine = balancer.engine();
  ASSERT_EQ(::kill(engine, SIGSTOP), 0);
  Socket waiting = Socket::connect(balancer.port());
  ASSERT_TRUE(waiting.send("GET / HTTP/1.1\r\nHost: q\r\n\r\n"));
  EXPECT_FALSE(balancer.says(" engine_", 2, milliseconds(6500))) << balancer.log();
  ASSERT_EQ(::kill(engine, SIGCONT), 0);
  const auto from = steady_clock::now();
  const auto answer = waiting.read(false);
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->status(), 200);
  EXPECT_LE(steady_clock::now() - from, seconds(2));
  for (const auto& node : balancer.nodes()) EXPECT_EQ(node.state, "usable") << node.name;
  EXPECT_EQ(balancer.engine(), engine);
}

}  // namespace
}  // namespace steelyard::e2e
