#include "steelyard/sense/traffic.h"

#include <cmath>
#include <gtest/gtest.h>

namespace steelyard::sense {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

// A node's growing counters, driven a tick at a time.
class Feed {
 public:
  explicit Feed(TrafficOptions options = {}) : traffic(options) {
    sample_.at = base::TimePoint(seconds(1000));
  }

  void tick(base::Duration step, std::uint64_t good, std::uint64_t bad = 0,
            base::Duration latency = milliseconds(20)) {
    sample_.at += step;
    sample_.attempts += good + bad;
    sample_.successes += good;
    sample_.failures += bad;
    sample_.head_latency.add(latency, static_cast<std::uint32_t>(good));
    traffic.add(sample_);
  }
  void baseline() { traffic.add(sample_); }
  [[nodiscard]] model::Observation read(base::Duration later = {}) const {
    model::Observation out;
    traffic.read(sample_.at + later, out);
    return out;
  }
  model::TrafficSample& sample() { return sample_; }

  Traffic traffic;

 private:
  model::TrafficSample sample_;
};

TEST(Traffic, KnowsNothingFromOneReading) {
  Feed feed;
  EXPECT_EQ(feed.read(), model::Observation{});
  feed.sample().successes = 1'000'000;  // from before we looked
  feed.sample().head_latency.add(seconds(3), 1000);
  feed.baseline();
  const auto seen = feed.read();
  EXPECT_FALSE(seen.rate);
  EXPECT_FALSE(seen.error_rate);
  EXPECT_FALSE(seen.latency_p50);
}

TEST(Traffic, RateIsWhatFinishedWhateverTheTicks) {
  Feed feed;
  feed.baseline();
  for (int i = 0; i < 200; ++i) feed.tick(milliseconds(i % 2 == 0 ? 50 : 150), i % 2 == 0 ? 5 : 15);
  const auto seen = feed.read();
  EXPECT_NEAR(seen.rate->value, 100, 1e-6);
  EXPECT_EQ(seen.rate->samples, 200U);
  EXPECT_EQ(seen.rate->at, feed.sample().at);
}

TEST(Traffic, ConnectFailuresFinishToo) {
  Feed feed;
  feed.baseline();
  feed.sample().connect_failures = 30;
  feed.tick(seconds(1), 70);
  EXPECT_NEAR(feed.read().rate->value, 100, 1e-9);
  EXPECT_NEAR(feed.read().error_rate->value, 0.3, 1e-9);
}

TEST(Traffic, MeanRateRemembersLongerThanTheRate) {
  Feed feed({.rate_tau = seconds(3)});
  feed.baseline();
  for (int i = 0; i < 600; ++i) feed.tick(seconds(1), 100);
  for (int i = 0; i < 30; ++i) feed.tick(seconds(1), 10);
  EXPECT_NEAR(feed.read().rate->value, 10, 0.1);
  EXPECT_GT(feed.read().mean_rate->value, 90);
}

TEST(Traffic, ErrorRateNeedsTwentyRequests) {
  Feed feed;
  feed.baseline();
  feed.tick(milliseconds(1), 0, 19);
  EXPECT_FALSE(feed.read().error_rate);
  feed.tick(milliseconds(1), 1, 1);
  EXPECT_NEAR(feed.read().error_rate->value, 20.0 / 21, 1e-3);
}

TEST(Traffic, ErrorRateIsUnknownAgainWhenTheTrafficEnds) {
  Feed feed;
  feed.baseline();
  for (int i = 0; i < 10; ++i) feed.tick(seconds(1), 90, 10);
  EXPECT_NEAR(feed.read().error_rate->value, 0.1, 1e-9);
  EXPECT_TRUE(feed.read(seconds(20)).error_rate);
  EXPECT_FALSE(feed.read(minutes(1)).error_rate);
  for (int i = 0; i < 60; ++i) feed.tick(seconds(1), 0);
  EXPECT_FALSE(feed.read().error_rate);
  // The rate stays known and has fallen: 10 s of 100, then 60 s of 0, fading with 28 s.
  const double want =
      100 * (1 - std::exp(-10.0 / 28)) * std::exp(-60.0 / 28) / (1 - std::exp(-70.0 / 28));
  EXPECT_NEAR(feed.read().rate->value, want, 1e-9);
}

TEST(Traffic, ErrorRateFollowsAFailingNodeWithinSeconds) {
  Feed feed;
  feed.baseline();
  for (int i = 0; i < 100; ++i) feed.tick(milliseconds(100), 10);
  for (int i = 0; i < 10; ++i) feed.tick(milliseconds(100), 0, 10);
  EXPECT_GT(feed.read().error_rate->value, 0.1);
}

TEST(Traffic, LatenciesAreThoseOfTheWindow) {
  Feed feed;
  feed.baseline();
  for (int i = 0; i < 60; ++i) feed.tick(seconds(1), 100, 0, milliseconds(20));
  EXPECT_NEAR(base::seconds(feed.read().latency_p50->value), 0.020, 0.0013);
  EXPECT_NEAR(base::seconds(feed.read().latency_mean->value), 0.020, 0.0013);
  for (int i = 0; i < 60; ++i) feed.tick(seconds(1), 100, 0, milliseconds(200));
  EXPECT_NEAR(base::seconds(feed.read().latency_p50->value), 0.200, 0.013);
  EXPECT_NEAR(base::seconds(feed.read().latency_mean->value), 0.200, 0.013);
}

TEST(Traffic, TheTailShowsInP99Only) {
  Feed feed;
  feed.baseline();
  for (int i = 0; i < 10; ++i) {
    feed.tick(milliseconds(900), 95, 0, milliseconds(20));
    feed.tick(milliseconds(100), 5, 0, milliseconds(1800));
  }
  EXPECT_NEAR(base::seconds(feed.read().latency_p50->value), 0.020, 0.0013);
  EXPECT_NEAR(base::seconds(feed.read().latency_p99->value), 1.8, 0.12);
}

TEST(Traffic, LatencyIsUnknownAfterAWindowWithoutSuccess) {
  Feed feed;
  feed.baseline();
  for (int i = 0; i < 5; ++i) feed.tick(seconds(1), 10);
  EXPECT_TRUE(feed.read().latency_p99);
  for (int i = 0; i < 15; ++i) feed.tick(seconds(1), 0, 10);
  EXPECT_FALSE(feed.read().latency_p99);
  EXPECT_NEAR(feed.read().error_rate->value,
              1 - (std::exp(-1.5) - std::exp(-2.0)) / (1 - std::exp(-2.0)), 1e-9);
}

TEST(Traffic, CountersThatGoBackAreANewBaseline) {
  Feed feed;
  feed.baseline();
  for (int i = 0; i < 5; ++i) feed.tick(seconds(1), 100);
  feed.sample().successes = 7;
  feed.sample().head_latency = {};
  feed.tick(seconds(1), 0);
  EXPECT_FALSE(feed.read().rate);
  feed.tick(seconds(1), 50);
  EXPECT_NEAR(feed.read().rate->value, 50, 1e-9);
}

TEST(Traffic, ASampleFromTheSameMomentLosesNothing) {
  Feed feed;
  feed.baseline();
  feed.tick(base::Duration{0}, 40);
  feed.tick(seconds(1), 60);
  EXPECT_NEAR(feed.read().rate->value, 100, 1e-9);
}

TEST(Traffic, InFlightIsTheNewest) {
  Feed feed;
  feed.baseline();
  feed.sample().in_flight = 17;
  feed.tick(seconds(1), 1);
  EXPECT_EQ(feed.read().in_flight, 17U);
  EXPECT_EQ(feed.traffic.in_flight(), 17U);
}

}  // namespace
}  // namespace steelyard::sense
