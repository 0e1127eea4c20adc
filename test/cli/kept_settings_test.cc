#include "steelyard/cli/kept_settings.h"

#include <gtest/gtest.h>

#include "steelyard/cli/pool.h"

namespace steelyard::cli {
namespace {

constexpr std::string_view kRestart = "stays as it was until a restart";
constexpr std::string_view kEither = "stays as it was until an upgrade (USR2) or a restart";

TEST(KeptSettings, AreTheOnesThatDifferFromWhatRuns) {
  config::Document started;
  started.proxy.workers = 3;  // an upgrade found one worker, and so it stayed
  const Running running{started, 1, true};
  config::Document wanted = started;
  EXPECT_EQ(kept_settings(running, wanted), (std::vector<KeptSetting>{{"workers", kRestart}}));
  wanted.proxy.workers = 1;
  EXPECT_TRUE(kept_settings(running, wanted).empty());
  wanted.proxy.workers = 0;
  EXPECT_EQ(kept_settings({started, workers_of(wanted), true}, wanted).size(), 0U);
  wanted.proxy.workers = 1;
  wanted.proxy.drain.idle = std::chrono::seconds(7);  // a reload takes it
  EXPECT_TRUE(kept_settings(running, wanted).empty());
}

TEST(KeptSettings, SayWhatMakesThemSo) {
  config::Document started;
  started.proxy.workers = 1;
  config::Document wanted = started;
  wanted.proxy.clients.max_fields = 50;
  wanted.proxy.io = io::Backend::kEpoll;
  wanted.pid_file = "/run/a.pid";
  for (const auto& kept : kept_settings({started, 1, true}, wanted)) {
    EXPECT_EQ(kept.text, kEither) << kept.key;
  }
  for (const auto& kept : kept_settings({started, 1, false}, wanted)) {
    EXPECT_EQ(kept.text, kRestart) << kept.key;
  }
  EXPECT_EQ(kept_settings({started, 1, true}, wanted).size(), 3U);
  started.pid_file = "/run/b.pid";
  wanted.proxy = started.proxy;
  EXPECT_EQ(kept_settings({started, 1, true}, wanted),
            (std::vector<KeptSetting>{{"pid_file", kRestart}}));
}

}  // namespace
}  // namespace steelyard::cli
