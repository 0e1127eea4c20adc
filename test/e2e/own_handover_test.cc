// kill -9 of the supervisor at every step of an upgrade, of a restart after a crash and of taking
// an engine over: one side serves on, and the next `run` takes over. No connect is refused.
#include <algorithm>
#include <filesystem>
#include <gtest/gtest.h>
#include <random>
#include <signal.h>
#include <stdlib.h>
#include <thread>

#include "steelyard/io/failpoint.h"

#include "test/e2e/own_support.h"

namespace steelyard::e2e {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

// Processes that were started with this word, the configuration file, as an argument.
std::vector<pid_t> running_with(const std::string& word) {
  std::vector<pid_t> out;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", ignored)) {
    const pid_t pid = std::atoi(entry.path().filename().c_str());
    if (pid <= 0) continue;
    const auto line = read_text(entry.path() / "cmdline");
    if (line.find(word) != std::string::npos) out.push_back(pid);
  }
  return out;
}

class Handover : public ::testing::Test {
 protected:
  ~Handover() override {
    for (const auto& one : all_) {
      for (const pid_t pid : running_with(one->file())) ::kill(pid, SIGKILL);
    }
  }

  // `dies_at`: where its supervisor has itself killed.
  Balancer& start(const std::string& dies_at = "") {
    if (!dies_at.empty()) ::setenv("STEELYARD_FAILPOINT", dies_at.c_str(), 1);
    all_.push_back(std::make_unique<Balancer>(text_));
    ::unsetenv("STEELYARD_FAILPOINT");
    return *all_.back();
  }
  // A `run` that must take over. The engines may need a moment to settle which of them goes on.
  Balancer& start_until_up() {
    const auto end = steady_clock::now() + seconds(20);
    while (!start().up() && steady_clock::now() < end) all_.pop_back();
    return *all_.back();
  }
  // All but the last have left nothing running, and the last stops in order.
  void expect_one_left() {
    for (std::size_t i = 0; i + 1 < all_.size(); ++i) {
      EXPECT_TRUE(wait_until([&] { return running_with(all_[i]->file()).empty(); }, seconds(15)))
          << all_[i]->log();
    }
    all_.back()->process().signal(SIGTERM);
    EXPECT_EQ(all_.back()->process().wait(seconds(10)), 0) << all_.back()->log();
    EXPECT_TRUE(running_with(all_.back()->file()).empty());
  }
  [[nodiscard]] std::string logs() const {
    std::string out;
    for (const auto& one : all_) out += "---\n" + one->log();
    return out;
  }
  void expect_nothing_lost(Load& load, bool engine_crashed) {
    const auto totals = load.stop();
    EXPECT_EQ(totals.refused, 0U) << totals.first_failure << logs();
    if (!engine_crashed) {
      EXPECT_EQ(totals.failed, 0U) << totals.first_failure << logs();
    }
  }

  Backend a_{"a"};
  Backend b_{"b"};
  std::uint16_t port_ = free_port();
  std::string text_ =
      "listeners:\n  - address: 127.0.0.1:" + std::to_string(port_) +
      "\n    routes: [{ upstream: api }]\nupstreams:\n  api:\n" +
      nodes_line({{"a", a_.port(), 1}, {"b", b_.port(), 1}}) +
      "workers: 2\ndrain: { idle: 100ms }\n" +
      admin_section().replace(admin_section().find(":0,"), 2, ":" + std::to_string(free_port()));
  std::vector<std::unique_ptr<Balancer>> all_;
};

class HandoverKilled : public Handover, public ::testing::WithParamInterface<const char*> {};

TEST_P(HandoverKilled, F43_OneSideServesOnAndTheNextRunTakesOver) {
  if (!io::has_failpoints()) GTEST_SKIP() << "a Release build has no failpoints";
  const std::string point = GetParam();
  const bool restart = point.starts_with("restart.");
  const bool takeover = point.starts_with("takeover.");
  Balancer& first = start(takeover ? "" : point);
  ASSERT_TRUE(first.up()) << first.log();
  ASSERT_EQ(first.adjust("a", 7).status, 200);
  Load load(port_, 4, 200);
  ASSERT_TRUE(load.wait_for(20));
  if (restart) {
    ASSERT_EQ(::kill(first.engine(), SIGKILL), 0);
  } else {
    first.process().signal(takeover ? SIGKILL : SIGUSR2);
  }
  ASSERT_EQ(first.process().wait(seconds(15)), 128 + SIGKILL) << first.log();
  if (takeover) {
    ASSERT_TRUE(first.says(" supervisor_lost ")) << first.log();
    Balancer& second = start(point);
    ASSERT_EQ(second.process().wait(seconds(15)), 128 + SIGKILL) << logs();
  }
  ASSERT_TRUE(load.wait_for(50)) << logs();
  Balancer& last = start_until_up();
  ASSERT_TRUE(last.up()) << logs();
  EXPECT_EQ(last.said(" engine_found "), 1U) << logs();
  ASSERT_TRUE(load.wait_for(50)) << logs();
  EXPECT_EQ(last.node("a").override_weight, 7) << logs();
  EXPECT_EQ(last.metric("steelyard_supervisor_connected"), 1);
  expect_nothing_lost(load, restart);
  expect_one_left();
}

INSTANTIATE_TEST_SUITE_P(
    AtEachStep, HandoverKilled,
    ::testing::Values("upgrade.asked", "upgrade.checked", "upgrade.resumed", "upgrade.spawned",
                      "upgrade.wanted", "upgrade.asked_back", "upgrade.gave_back",
                      "upgrade.gave_lease", "upgrade.ready", "upgrade.handed_over",
                      "restart.spawned", "restart.wanted", "restart.gave_lease", "restart.ready",
                      "restart.handed_over", "takeover.found", "takeover.wanted",
                      "takeover.asked_back", "takeover.gave_back", "takeover.gave_lease",
                      "takeover.ready", "takeover.handed_over"),
    [](const auto& one) {
      std::string name = one.param;
      std::replace(name.begin(), name.end(), '.', '_');
      return name;
    });

// Moments between the steps, and builds without failpoints.
TEST_F(Handover, F43_KilledAtAnyMomentOfAnUpgrade) {
  const auto seed = std::random_device{}();
  std::mt19937 random(seed);
  SCOPED_TRACE("seed " + std::to_string(seed));
  ASSERT_TRUE(start().up()) << logs();
  ASSERT_EQ(all_.back()->adjust("a", 7).status, 200);
  Load load(port_, 4, 200);
  ASSERT_TRUE(load.wait_for(20));
  for (int i = 0; i < 8; ++i) {
    Balancer& now = *all_.back();
    now.process().signal(SIGUSR2);
    std::this_thread::sleep_for(milliseconds(random() % 250));  // the moment itself
    now.process().signal(SIGKILL);
    (void)now.process().wait(seconds(5));
    ASSERT_TRUE(load.wait_for(20)) << logs();
    ASSERT_TRUE(start_until_up().up()) << logs();
    EXPECT_EQ(all_.back()->node("a").override_weight, 7) << logs();
  }
  expect_nothing_lost(load, false);
  expect_one_left();
}

}  // namespace
}  // namespace steelyard::e2e
