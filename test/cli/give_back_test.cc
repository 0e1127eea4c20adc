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

TEST(GiveBack, WhatWorkersFreedIsDueOnceItIsMostlyFreed) {
  GiveBack memory;
  memory.freed(GiveBack::kWorth - 1, kStart);
  EXPECT_FALSE(memory.due(kStart + 24h)) << "not worth it";
  memory.freed(2 * GiveBack::kWorth, kStart);
  memory.freed(5 * GiveBack::kWorth, kStart + 2s);
  EXPECT_FALSE(memory.due(kStart + 4999ms));
  EXPECT_TRUE(memory.due(kStart + 5s));
  memory.given(kStart + 5s, false);
  memory.freed(5 * GiveBack::kWorth, kStart + 6s);
  EXPECT_FALSE(memory.due(kStart + 24h)) << "nothing came after it";
}

TEST(GiveBack, WorkersThatGoOnFreeingCauseItOnceAMinute) {
  GiveBack memory;
  int given = 0;
  std::uint64_t freed = 0;
  for (auto now = kStart; now < kStart + 10min; now += 1s) {
    memory.freed(freed += GiveBack::kWorth, now);
    if (!memory.due(now)) continue;
    memory.given(now, false);
    ++given;
  }
  EXPECT_EQ(given, 10);
}

TEST(GiveBack, WorkersDoNotPutOffWhatAConfigurationLeft) {
  GiveBack memory;
  memory.freed(GiveBack::kWorth, kStart);
  memory.read(kStart);
  EXPECT_TRUE(memory.due(kStart + 1s));
  memory.given(kStart + 1s, false);
  memory.freed(3 * GiveBack::kWorth, kStart + 2s);
  memory.read(kStart + 3s);
  EXPECT_TRUE(memory.due(kStart + 4s));
}

}  // namespace
}  // namespace steelyard::cli
