// Upgrades by USR2, and storms of signals, under load: nothing is lost, nothing piles up.
#include <filesystem>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <signal.h>
#include <sys/stat.h>

#include "test/e2e/own_support.h"
#include "test/integration/net.h"
#include "test/paths.h"

namespace steelyard::e2e {
namespace {

using integration::Socket;
using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

// As values are in the log.
std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '"') out += '\\';
    out += c;
  }
  return out;
}

std::size_t descriptors_of(pid_t pid) {
  std::size_t out = 0;
  std::error_code ignored;
  for ([[maybe_unused]] const auto& one :
       std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/fd", ignored)) {
    ++out;
  }
  return out;
}

class OwnUpgrade : public ::testing::Test {
 protected:
  static constexpr auto kQuick = "workers: 2\ndrain: { idle: 100ms }\n";
  Backend a_{"a"};
  Backend b_{"b"};
  std::string conf(double weight, const std::string& top = kQuick) const {
    return config({{"a", a_.port(), weight}, {"b", b_.port(), 1}}, "", top);
  }
  static void upgrade(Balancer& balancer, std::size_t nth) {
    balancer.process().signal(SIGUSR2);
    ASSERT_TRUE(balancer.says(" upgraded ", nth)) << balancer.log();
    // The next is refused as long as one is under way, which ends with this line.
    ASSERT_TRUE(balancer.says(" engine_drained ", nth, seconds(15))) << balancer.log();
  }
};

TEST_F(OwnUpgrade, F48_FiveUpgradesUnderLoadLoseNothingAndKeepWhatWasLearned) {
  Balancer balancer(conf(1));
  ASSERT_TRUE(balancer.up()) << balancer.log();
  ASSERT_EQ(balancer.adjust("a", 7).status, 200);
  const pid_t supervisor = balancer.process().pid();
  const auto before = descriptors_of(supervisor);
  Load load(balancer.port(), 8, 400);
  ASSERT_TRUE(load.wait_for(50));
  for (std::size_t i = 1; i <= 5; ++i) {
    const pid_t old = balancer.engine();
    upgrade(balancer, i);
    EXPECT_NE(balancer.engine(), old);
    ASSERT_TRUE(load.wait_for(20)) << i;
  }
  const auto totals = load.stop();
  EXPECT_EQ(totals.failed, 0U) << totals.first_failure;
  EXPECT_EQ(totals.refused, 0U) << totals.first_failure;
  EXPECT_EQ(totals.resent, 0U) << "kept connections are told by Connection: close";
  EXPECT_EQ(balancer.node("a").override_weight, 7);
  EXPECT_EQ(balancer.metric("steelyard_engine_upgrades_total{result=\"success\"}"), 5);
  EXPECT_EQ(balancer.metric("steelyard_engine_generation"), 6);
  EXPECT_EQ(balancer.process().pid(), supervisor);
  EXPECT_EQ(children_of(supervisor), (std::vector<pid_t>{balancer.engine()}));
  EXPECT_EQ(descriptors_of(supervisor), before);
  balancer.process().signal(SIGTERM);
  EXPECT_EQ(balancer.process().wait(seconds(10)), 0) << balancer.log();
}

TEST_F(OwnUpgrade, F48_ALongAnswerGoesOnInTheOldEngine) {
  NodeProcess slow("slow", {"--service", "1ms"});
  ASSERT_EQ(slow.control(R"({"hang": true})").status, 200);
  Balancer balancer(config({{"slow", slow.port(), 1}}, "", kQuick));
  ASSERT_TRUE(balancer.up()) << balancer.log();
  const pid_t old = balancer.engine();
  Socket waiting = Socket::connect(balancer.port());
  ASSERT_TRUE(waiting.send("GET /slow HTTP/1.1\r\nHost: q\r\n\r\n"));
  ASSERT_TRUE(
      wait_until([&] { return balancer.metric("steelyard_http_exchanges") == 1; }, seconds(5)));
  balancer.process().signal(SIGUSR2);
  ASSERT_TRUE(balancer.says(" upgraded "));
  EXPECT_EQ(::kill(old, 0), 0) << "it finishes what it has";
  EXPECT_EQ(balancer.metric("steelyard_http_exchanges"), 0) << "the new one has none of it";
  ASSERT_EQ(slow.control(R"({"hang": false})").status, 200);
  const auto answer = waiting.read(false);
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->status(), 200);
  EXPECT_EQ(answer->field("connection"), "close");
  EXPECT_TRUE(balancer.says(" engine_drained pid=" + std::to_string(old)));
}

TEST_F(OwnUpgrade, F48_WhatCannotComeUpChangesNothing) {
  const TempDir dir;
  const std::string binary = dir / "steelyard";
  std::filesystem::copy_file(test::binary(), binary);
  const auto replace = [&](const std::string& text) {
    write_text(dir / "next", text);
    ASSERT_EQ(::chmod((dir / "next").c_str(), 0755), 0);
    std::filesystem::rename(dir / "next", binary);
  };
  Balancer balancer(conf(1), {}, binary);
  ASSERT_TRUE(balancer.up()) << balancer.log();
  const pid_t engine = balancer.engine();
  Load load(balancer.port(), 4, 200);
  ASSERT_TRUE(load.wait_for(20));
  std::size_t failures = 0;
  const auto fails = [&](const std::string& why) {
    balancer.process().signal(SIGUSR2);
    ASSERT_TRUE(balancer.says(" upgrade_failed ", ++failures)) << why << balancer.log();
    EXPECT_EQ(Client(balancer.port()).get("/").status, 200) << why;
    EXPECT_EQ(balancer.engine(), engine) << why;
  };
  replace("#!/bin/sh\nexit 1\n");
  fails("a program that does not start");
  replace("#!/bin/sh\necho steelyard-engine 4711\n");
  fails("a program of another version");
  std::filesystem::remove(binary);
  fails("no program");
  std::filesystem::copy_file(test::binary(), binary);
  balancer.write(conf(1) + "workrs: 3\n");
  fails("a broken configuration");
  EXPECT_EQ(balancer.said("unknown key \"workrs\""), 1U) << "it says where";
  const std::string why = "the new engine exited with status 1: " + balancer.file() +
                          ":12:1: unknown key \"workrs\", did you mean \"workers\"?";
  const auto last = nlohmann::json::parse(balancer.get("/api/v1/process").body, nullptr, false);
  EXPECT_EQ(last["upgrade"]["last_failure"]["reason"], why) << last;
  EXPECT_EQ(balancer.said(" upgrade_failed reason=\"" + escaped(why) + "\" "), 1U)
      << balancer.log();
  ASSERT_EQ(balancer.adjust("a", 7).status, 200) << "it has the lease again";
  EXPECT_EQ(balancer.metric("steelyard_engine_upgrades_total{result=\"failure\"}"), 4);

  balancer.write(conf(3));
  balancer.process().signal(SIGUSR2);
  ASSERT_TRUE(balancer.says(" upgraded ")) << balancer.log();
  EXPECT_EQ(balancer.node("a").base, 3) << "an upgrade reads the configuration too";
  EXPECT_EQ(balancer.node("a").override_weight, 7);
  ASSERT_TRUE(load.wait_for(20));
  const auto totals = load.stop();
  EXPECT_EQ(totals.failed, 0U) << totals.first_failure;
  EXPECT_EQ(totals.refused, 0U);
  balancer.process().signal(SIGTERM);
  EXPECT_EQ(balancer.process().wait(seconds(10)), 0) << balancer.log();
}

TEST_F(OwnUpgrade, F40_AThousandHupsAreCoalescedAndTheLastFileWins) {
  Balancer balancer(conf(1));
  ASSERT_TRUE(balancer.up()) << balancer.log();
  Load load(balancer.port(), 8, 300);
  ASSERT_TRUE(load.wait_for(20));
  const pid_t engine = balancer.engine();
  const auto descriptors = descriptors_of(engine);
  for (int i = 1; i <= 1000; ++i) {
    if (i % 50 == 0) balancer.write(conf(i));
    balancer.process().signal(SIGHUP);
    ASSERT_TRUE(load.wait_for(1)) << "about 3 ms";
  }
  EXPECT_TRUE(
      balancer.node_becomes("a", [](const NodeState& n) { return n.base == 1000; }, seconds(5)));
  const auto totals = load.stop();
  EXPECT_EQ(totals.failed, 0U) << totals.first_failure;
  EXPECT_EQ(totals.refused, 0U);
  EXPECT_EQ(totals.resent, 0U);
  EXPECT_EQ(balancer.engine(), engine);
  const auto reloads = balancer.metric("steelyard_config_reloads_total{result=\"success\"}");
  EXPECT_GE(reloads, 5);
  EXPECT_LE(reloads, 200) << "at most one in 100 ms";
  EXPECT_TRUE(wait_until([&] { return descriptors_of(engine) <= descriptors; }, seconds(5)));
}

TEST_F(OwnUpgrade, F41_ABadFileOnHupTellsLineAndReason) {
  Balancer balancer(conf(3));
  ASSERT_TRUE(balancer.up()) << balancer.log();
  EXPECT_FALSE(balancer.reload(conf(5) + "workrs: 3\nioo: epoll\n"));
  EXPECT_TRUE(balancer.says("steelyard.yaml:13:1: unknown key ")) << balancer.log();
  EXPECT_EQ(balancer.said("steelyard.yaml:12:1: unknown key "), 1U)
      << "as the reason of reload_refused" << balancer.log();
  EXPECT_EQ(balancer.node("a").base, 3);
  EXPECT_EQ(balancer.metric("steelyard_config_last_reload_successful"), 0);

  const std::string warned = "    weigh: { controller: static, cooldown: 5s }\n";
  EXPECT_FALSE(balancer.reload(config({{"a", a_.port(), 5}}, warned) + "workrs: 3\n"));
  EXPECT_EQ(balancer.said(": warning: upstreams.api.weigh.cooldown: has no effect"), 1U)
      << balancer.log();
  EXPECT_EQ(balancer.said(" reason=\"" + balancer.file() + ":10:1: unknown key "), 1U)
      << "a warning before it is not the reason" << balancer.log();
}

TEST_F(OwnUpgrade, DRN_01_OldEnginesDoNotPileUp) {
  Balancer balancer(conf(1, "workers: 1\ndrain: { idle: 60s, limit: 60s }\n"));
  ASSERT_TRUE(balancer.up()) << balancer.log();
  std::vector<Socket> held;  // keep-alive connections, which keep each old engine
  for (std::size_t i = 1; i <= 7; ++i) {
    held.push_back(Socket::connect(balancer.port()));
    ASSERT_TRUE(held.back().send("GET / HTTP/1.1\r\nHost: q\r\n\r\n"));
    ASSERT_TRUE(held.back().read(false).has_value());
    balancer.process().signal(SIGUSR2);
    ASSERT_TRUE(balancer.says(" upgraded ", i)) << balancer.log();
    EXPECT_TRUE(
        wait_until([&] { return children_of(balancer.process().pid()).size() <= 4; }, seconds(5)))
        << i;
  }
  // A connection may have gone to the engine before, which then ends with one less to hold.
  EXPECT_TRUE(balancer.says(" engine_cut_short ")) << balancer.log();
  EXPECT_EQ(balancer.adjust("a", 9).status, 200) << "a change of weights needs no new engine";
  EXPECT_EQ(balancer.said(" upgraded "), 7U);
  balancer.process().signal(SIGTERM);
  balancer.process().signal(SIGTERM);
  EXPECT_EQ(balancer.process().wait(seconds(10)), 0) << balancer.log();
}

TEST_F(OwnUpgrade, D12_FiftyUpgradesLeaveNoDescriptorBehind) {
  Balancer balancer(conf(1, "workers: 1\ndrain: { idle: 0s }\n"));
  ASSERT_TRUE(balancer.up()) << balancer.log();
  const pid_t supervisor = balancer.process().pid();
  const auto of_supervisor = descriptors_of(supervisor);
  const auto of_engine = descriptors_of(balancer.engine());
  for (std::size_t i = 1; i <= 50; ++i) upgrade(balancer, i);
  EXPECT_EQ(descriptors_of(supervisor), of_supervisor);
  const pid_t engine = balancer.engine();
  EXPECT_TRUE(wait_until([&] { return descriptors_of(engine) == of_engine; }, seconds(5)))
      << descriptors_of(engine) << " " << of_engine;
}

TEST_F(OwnUpgrade, D12_AHundredReloadsLeaveNoDescriptorBehind) {
  Balancer balancer(conf(1, "workers: 1\n"));
  ASSERT_TRUE(balancer.up()) << balancer.log();
  const pid_t supervisor = balancer.process().pid();
  const pid_t engine = balancer.engine();
  const auto of_supervisor = descriptors_of(supervisor);
  const auto of_engine = descriptors_of(engine);
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(balancer.reload()) << i;
  EXPECT_TRUE(wait_until([&] { return descriptors_of(engine) == of_engine; }, seconds(5)))
      << descriptors_of(engine) << " " << of_engine;
  EXPECT_EQ(descriptors_of(supervisor), of_supervisor);
  EXPECT_EQ(balancer.engine(), engine);
}

TEST_F(OwnUpgrade, T31_TheWorkersStayAsManyUntilARestart) {
  Balancer balancer(conf(1, "workers: 1\ndrain: { idle: 100ms }\n"));
  ASSERT_TRUE(balancer.up()) << balancer.log();
  ASSERT_TRUE(balancer.reload(conf(1, "workers: 3\ndrain: { idle: 100ms }\n")));
  EXPECT_EQ(balancer.said(" reload_partly key=workers "), 1U);
  ASSERT_TRUE(balancer.reload());
  EXPECT_EQ(balancer.said(" reload_partly key=workers "), 2U) << "it is still so";
  ASSERT_TRUE(balancer.reload(conf(1, "workers: 1\ndrain: { idle: 100ms }\n")));
  EXPECT_EQ(balancer.said(" reload_partly "), 2U) << "that is what runs";
  ASSERT_TRUE(balancer.reload(conf(1, "workers: 3\ndrain: { idle: 100ms }\n")));
  upgrade(balancer, 1);
  EXPECT_EQ(balancer.metric("steelyard_workers"), 1);
  EXPECT_EQ(balancer.said(" workers_kept "), 1U);
  ASSERT_TRUE(balancer.reload());
  EXPECT_EQ(balancer.said(" reload_partly key=workers text=\"stays as it was until a restart\""),
            4U);
}

}  // namespace
}  // namespace steelyard::e2e
