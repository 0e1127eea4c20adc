#include "steelyard/cli/service_model.h"

#include <gtest/gtest.h>

namespace steelyard::cli {
namespace {

using namespace std::chrono_literals;
using base::TimePoint;

constexpr TimePoint kStart{1h};

TEST(ServiceModel, ServesAsManyAtOnceAsItHasCores) {
  ServiceModel model(2, 10ms, 7);
  for (std::uint64_t id = 1; id <= 3; ++id) model.arrive(id, kStart);
  std::vector<ServiceModel::Done> done;
  model.advance(kStart, done);
  EXPECT_TRUE(done.empty());
  EXPECT_EQ(model.health(kStart).active, 3U);
  model.advance(kStart + 10s, done);
  EXPECT_EQ(done.size(), 3U);
  EXPECT_EQ(model.health(kStart + 10s).active, 0U);
  EXPECT_FALSE(model.next().has_value());
}

TEST(ServiceModel, UtilisationIsOfferedLoadOverCores) {
  ServiceModel model(4, 10ms, 11);
  std::vector<ServiceModel::Done> done;
  double sum = 0;
  int windows = 0;
  TimePoint now = kStart;
  for (std::uint64_t id = 1; id <= 6000; ++id) {  // 200 a second × 10 ms over 4 cores = 50 %
    now += 5ms;
    model.advance(now, done);
    model.arrive(id, now);
    if (id > 200 && id % 200 == 0) {
      sum += model.health(now).utilisation;
      ++windows;
    }
  }
  EXPECT_NEAR(sum / windows, 0.5, 0.03);
  EXPECT_GE(model.health(now).score, 95);
}

TEST(ServiceModel, APauseHoldsEverythingAndShowsInScoreAndUtilisation) {
  ServiceModel model(4, 1ms, 3);
  std::vector<ServiceModel::Done> done;
  model.advance(kStart, done);
  model.set_faults({.pause = 1800ms, .pause_every = 2500ms}, kStart);
  model.advance(kStart, done);
  model.arrive(1, kStart + 1ms);
  model.advance(kStart + 890ms, done);
  EXPECT_TRUE(done.empty()) << "a pause lasts at least half of the longest";
  model.advance(kStart + 900ms, done);
  EXPECT_DOUBLE_EQ(model.health(kStart + 890ms).utilisation, 1.0);
  model.advance(kStart + 2400ms, done);
  ASSERT_EQ(done.size(), 1U);
  model.advance(kStart + 10s, done);
  const auto health = model.health(kStart + 10s);
  EXPECT_LT(health.score, 75);
  EXPECT_GE(health.pauses, 4U);
  model.set_faults({}, kStart + 10s);
  model.advance(kStart + 20s, done);
  EXPECT_EQ(model.health(kStart + 20s).score, 100);
}

TEST(ServiceModel, FaultsFailOrHangOrSlow) {
  ServiceModel model(4, 10ms, 5);
  std::vector<ServiceModel::Done> done;
  model.set_faults({.error_rate = 1}, kStart);
  model.arrive(1, kStart);
  model.advance(kStart, done);
  ASSERT_EQ(done.size(), 1U);
  EXPECT_FALSE(done[0].ok);
  model.set_faults({.hang = true}, kStart);
  model.arrive(2, kStart);
  model.advance(kStart + 1h, done);
  EXPECT_EQ(done.size(), 1U);
  model.cancel(2);
  EXPECT_EQ(model.health(kStart + 1h).active, 0U);
  model.set_faults({.score = 42}, kStart + 1h);
  EXPECT_EQ(model.health(kStart + 1h).score, 42);
}

TEST(ServiceModel, RequestsOfAHangAreServedWhenItEnds) {
  ServiceModel model(2, 10ms, 7);
  std::vector<ServiceModel::Done> done;
  model.set_faults({.hang = true}, kStart);
  for (std::uint64_t id = 1; id <= 3; ++id) model.arrive(id, kStart);
  model.advance(kStart + 10s, done);
  EXPECT_TRUE(done.empty());
  EXPECT_EQ(model.health(kStart + 10s).active, 3U);
  model.set_faults({}, kStart + 10s);
  model.advance(kStart + 20s, done);
  EXPECT_EQ(done.size(), 3U);
}

}  // namespace
}  // namespace steelyard::cli
