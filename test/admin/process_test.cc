#include "steelyard/admin/process.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace steelyard::admin {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;

const Now kNow{base::TimePoint(100s), io::WallTime(1'800'000'000s)};

TEST(ProcessJson, WhatIsNotKnownIsNull) {
  const auto got = json::parse(process_json({.engine = 7, .engine_began = kNow.wall - 5s}, kNow));
  EXPECT_TRUE(got["supervisor"].is_null());
  EXPECT_EQ(got["engine"]["uptime_seconds"], 5);
  EXPECT_TRUE(got["lease"]["holder"].is_null());
  EXPECT_TRUE(got["crashes"]["last"].is_null());
  EXPECT_TRUE(got["upgrade"]["last_failure"].is_null());
  EXPECT_TRUE(got["draining"].empty());
  EXPECT_TRUE(got["config"].is_null());
}

TEST(ProcessJson, TellsAllOfIt) {
  io::ProcessStatus status{.supervisor = 11, .started = 1'799'999'900, .generation = 4};
  status.crashes = 9;
  status.last_crash = 1'799'999'990;
  status.crashed_pid = 12;
  status.crashed_how = "was killed by signal 6 (Aborted)";
  status.recent_crashes = {1'799'999'900, 1'799'999'960, 1'799'999'990};
  status.crash_limit = 2;
  status.crash_window = 60;
  status.failed_upgrades = 1;
  status.upgrade_failed = 1'799'999'000;
  status.upgrade_failure = "no such program";
  status.draining = {{.pid = 5, .generation = 3, .since = 1'799'999'999, .holding = {}},
                     {.pid = 6, .holding = io::Holding{3, 2, 1}}};
  const ProcessView view{.status = status,
                         .engine = 13,
                         .engine_began = kNow.wall - 10s,
                         .leased = true,
                         .version = "1.2.3",
                         .revision = "abc1234",
                         .config = ProcessView::Config{.file = "/etc/s.yaml",
                                                       .sha256 = "ab",
                                                       .taken = 1'799'999'000,
                                                       .difference = "is broken: s.yaml:1:1: x"}};
  const auto got = json::parse(process_json(view, kNow));
  EXPECT_EQ(got["supervisor"]["uptime_seconds"], 100);
  EXPECT_EQ(got["lease"]["holder"], 13);
  EXPECT_EQ(got["engine"]["version"], "1.2.3");
  EXPECT_EQ(got["engine"]["revision"], "abc1234");
  EXPECT_EQ(got["crashes"]["recent"], 2) << "the first is older than the window";
  EXPECT_EQ(got["crashes"]["next_is_held_back"], true);
  EXPECT_EQ(got["crashes"]["last"]["at"], "2027-01-15T07:59:50.000Z");
  EXPECT_EQ(got["upgrade"]["last_failure"]["reason"], "no such program");
  EXPECT_EQ(got["draining"][0]["for_seconds"], 1);
  EXPECT_TRUE(got["draining"][0]["holds"].is_null()) << "it has not said";
  EXPECT_TRUE(got["draining"][1]["since"].is_null());
  EXPECT_EQ(got["draining"][1]["holds"]["tunnels"], 1);
  EXPECT_EQ(got["config"]["differs_from_file"], true);
  EXPECT_EQ(got["config"]["difference"], "is broken: s.yaml:1:1: x");
}

TEST(ProcessJson, FromFlagsNothingCanDiffer) {
  const auto got =
      json::parse(process_json({.config = ProcessView::Config{.file = "--to"}}, kNow))["config"];
  EXPECT_TRUE(got["file"].is_null());
  EXPECT_TRUE(got["differs_from_file"].is_null());
}

}  // namespace
}  // namespace steelyard::admin
