#include "steelyard/request/latency.h"

#include <gtest/gtest.h>

#include "test/request/rig.h"

namespace steelyard::request {
namespace {

using testing::at;
using namespace std::chrono_literals;

TEST(Latency, IsUnknownBelowAHundredAnswers) {
  Latency latency;
  EXPECT_FALSE(latency.quantiles(at(0s)));
  for (int i = 0; i < 99; ++i) latency.add(10ms, at(1s));
  EXPECT_FALSE(latency.quantiles(at(2s)));
  latency.add(10ms, at(2s));
  ASSERT_TRUE(latency.quantiles(at(3s)));
  EXPECT_NEAR(base::seconds(latency.quantiles(at(3s))->p95), 0.010, 0.0007);
}

TEST(Latency, QuantilesFollowTheLastTenToTwentySeconds) {
  Latency latency;
  for (int i = 1; i <= 1000; ++i) latency.add(i * 1ms, at(0s));
  const auto first = latency.quantiles(at(1s));
  ASSERT_TRUE(first);
  EXPECT_NEAR(base::seconds(first->p50), 0.5, 0.04);
  EXPECT_NEAR(base::seconds(first->p95), 0.95, 0.07);
  EXPECT_NEAR(base::seconds(first->p99), 0.99, 0.07);
  for (int i = 0; i < 100'000; ++i) latency.add(5ms, at(11s));  // the others are still in sight
  EXPECT_LE(latency.quantiles(at(12s))->p95, 6ms);
  for (int i = 0; i < 200; ++i) latency.add(80ms, at(25s));
  for (int i = 0; i < 200; ++i) latency.add(80ms, at(36s));
  EXPECT_NEAR(base::seconds(latency.quantiles(at(37s))->p50), 0.080, 0.006);
  EXPECT_FALSE(latency.quantiles(at(70s)));  // nothing was answered lately
}

TEST(Latency, AreWorkedOutOnceASecond) {
  Latency latency;
  for (int i = 0; i < 100; ++i) latency.add(10ms, at(0s));
  ASSERT_TRUE(latency.quantiles(at(0s)));
  for (int i = 0; i < 900; ++i) latency.add(100ms, at(100ms));
  EXPECT_LE(latency.quantiles(at(900ms))->p50, 11ms);
  EXPECT_GE(latency.quantiles(at(1s))->p50, 90ms);
}

}  // namespace
}  // namespace steelyard::request
