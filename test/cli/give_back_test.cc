#include "steelyard/cli/give_back.h"

#include <gtest/gtest.h>

namespace steelyard::cli {
namespace {

using namespace std::chrono_literals;

constexpr base::TimePoint kStart{1h};

TEST(GiveBack, MemoryIsDueOnceASecondAfterAConfigurationWasRead) {
  GiveBack memory;
  EXPECT_FALSE(memory.due(kStart));
  memory.read(kStart);
  EXPECT_FALSE(memory.due(kStart + 999ms));
  EXPECT_TRUE(memory.due(kStart + 1s));
  memory.given(kStart + 1s, false);
  EXPECT_FALSE(memory.due(kStart + 24h));
}

TEST(GiveBack, ReloadsWithoutAPauseDoNotPutItOffAndTheLastIsNotForgotten) {
  GiveBack memory;
  int given = 0;
  auto now = kStart;
  for (; now < kStart + 10s; now += 100ms) {
    if (memory.due(now)) {
      memory.given(now, false);
      ++given;
    }
    memory.read(now);
  }
  EXPECT_GE(given, 9);
  memory.given(now, false);
  EXPECT_FALSE(memory.due(now));
  EXPECT_TRUE(memory.due(now - 100ms + 1s));
}

TEST(GiveBack, WhatIsInUseIsDueAMinuteLater) {
  GiveBack memory;
  memory.read(kStart);
  memory.given(kStart + 1s, true);
  EXPECT_FALSE(memory.due(kStart + 60s));
  EXPECT_TRUE(memory.due(kStart + 61s));
  memory.given(kStart + 61s, false);
  EXPECT_FALSE(memory.due(kStart + 24h));
}

}  // namespace
}  // namespace steelyard::cli
