#include "steelyard/cli/running_config.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace steelyard::cli
