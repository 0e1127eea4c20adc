#include "steelyard/cli/running_config.h"

#include <fstream>
#include <gtest/gtest.h>

#include "test/io/scratch.h"

namespace steelyard::cli {
namespace {

TEST(RunningConfig, ARecordGivesBackWhatWasTaken) {
  Source source;
  source.name = "/etc/a\nb.yaml";
  source.text = "listeners:\n  - 7 9\nx\n";
  RunningConfig config;
  config.took(source, 1'700'000'000);
  const auto kept = RunningConfig::kept(config.record());
  ASSERT_TRUE(kept.has_value());
  EXPECT_EQ(kept->name, source.name);
  EXPECT_EQ(kept->text, source.text);
  EXPECT_EQ(kept->taken, 1'700'000'000);
}

TEST(RunningConfig, WhatIsNoRecordGivesNothing) {
  for (const std::string_view bad :
       {"", "steelyard-config 2\n1 1\nab", "steelyard-config 1\n", "steelyard-config 1\n12",
        "steelyard-config 1\n12 \nab", "steelyard-config 1\n12 3\nab",
        "steelyard-config 1\nx 1\nab", "steelyard-config 1\n1 1", "steelyard-config 1\n1 -1\nab"}) {
    EXPECT_FALSE(RunningConfig::kept(bad).has_value()) << bad;
  }
}

TEST(RunningConfig, FromFlagsNothingIsKeptAndNothingDiffers) {
  Source source;
  source.name = "--to";
  RunningConfig config;
  config.took(source, 1);
  EXPECT_EQ(config.record(), "");
  EXPECT_EQ(config.look(), "");
  EXPECT_EQ(config.sha256(), "");
}

TEST(RunningConfig, AFileThatDiffersIsJudgedOnceByItsText) {
  const io::Scratch scratch;
  const std::string file = scratch / "s.yaml";
  const auto write = [&](std::string_view text) { std::ofstream(file) << text; };
  const std::string good =
      "listeners: [{address: 127.0.0.1:1, routes: [{upstream: a}]}]\n"
      "upstreams: {a: {nodes: [127.0.0.1:2]}}\n";
  const std::string other = good + "workers: 2\n";
  const std::string broken = good + "nonsense: 1\n";
  write(good);
  RunningConfig config;
  config.took(load_text(file, good), 1);
  EXPECT_EQ(config.look(), "");

  write(broken);
  EXPECT_EQ(config.look(), "was changed and not read since; it is being checked");
  EXPECT_FALSE(config.file_unusable());
  ASSERT_NE(config.unjudged(), nullptr);
  EXPECT_EQ(*config.unjudged(), broken);
  config.judged(RunningConfig::judge(file, *config.unjudged()));
  const auto why = "is broken: " + file + ":3:1: unknown key \"nonsense\"";
  EXPECT_EQ(config.look().substr(0, why.size()), why);
  EXPECT_TRUE(config.file_unusable());
  EXPECT_EQ(config.unjudged(), nullptr);  // the text is the same, whenever it was written
  write(broken);
  (void)config.look();
  EXPECT_EQ(config.unjudged(), nullptr);

  write(other);
  (void)config.look();
  const std::string seen = *config.unjudged();
  write(broken + "#");  // while it is judged
  config.judged(RunningConfig::judge(file, seen));
  ASSERT_NE(config.unjudged(), nullptr);
  EXPECT_EQ(*config.unjudged(), broken + "#");
  write(other);
  EXPECT_EQ(config.look(), "was changed and not read since; HUP takes it");
  config.refused(load_text(file, other), "no room");
  EXPECT_EQ(config.look(), "was refused: no room");
  write(good);
  EXPECT_EQ(config.look(), "");
}

}  // namespace
}  // namespace steelyard::cli
