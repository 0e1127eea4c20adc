#include "steelyard/sense/observer.h"

#include <array>
#include <gtest/gtest.h>
#include <string_view>

#include "steelyard/sense/options.h"

namespace steelyard::sense {
namespace {

using model::ReportOutcome;
using std::chrono::milliseconds;
using std::chrono::seconds;

base::TimePoint at(double second) {
  return base::TimePoint(seconds(1000)) + base::from_seconds(second);
}

model::ReportSample report(double second, const model::LoadReport& load) {
  return {.at = at(second), .outcome = ReportOutcome::kOk, .report = load};
}
model::ReportSample score(double second, double value) { return report(second, {.score = value}); }
model::ReportSample failed(double second, ReportOutcome outcome) {
  return {.at = at(second), .outcome = outcome};
}

TEST(Observer, KnowsNothingAtFirst) {
  const Observer observer;
  const auto seen = observer.at(at(0));
  EXPECT_EQ(seen, model::Observation{});
}

TEST(Observer, ScoreIsTheMeanOfTheLastFiveWithItsAge) {
  Observer observer;
  for (int i = 0; i < 6; ++i) observer.add(score(10 * i, 100 - 10 * i));
  const auto seen = observer.at(at(53));
  EXPECT_DOUBLE_EQ(seen.score->value, 70);
  EXPECT_EQ(seen.score->samples, 6U);
  EXPECT_EQ(seen.score->age(at(53)), base::Duration(seconds(3)));
  EXPECT_EQ(seen.reports, 6U);
}

TEST(Observer, ReadingAgainChangesNothingButTheAge) {
  Observer observer;
  observer.add(score(0, 80));
  auto first = observer.at(at(1));
  EXPECT_EQ(first, observer.at(at(9)));
}

TEST(Observer, UtilisationIsAnEwmaOfThreeTenths) {
  Observer observer;
  observer.add(report(0, {.utilisation = 0.9}));
  observer.add(report(10, {.utilisation = 0.5}));
  EXPECT_NEAR(observer.at(at(10)).utilisation->value, 0.3 * 0.5 + 0.7 * 0.9, 1e-12);
  EXPECT_FALSE(observer.at(at(10)).score);
}

TEST(Observer, AFullHeapVetoesAnIdleProcessor) {
  struct Row {
    std::string_view name;
    double cpu, heap, want;
  };
  constexpr std::array rows{
      Row{"a heap below its limit says nothing of the load", 0.3, 0.72, 0.3},
      Row{"at the limit nothing yet", 0.3, 0.85, 0.3},
      Row{"above it the node counts as full", 0.3, 0.935, 1.1},
      Row{"unless the processor is fuller", 1.0, 0.84, 1.0},
  };
  for (const Row& row : rows) {
    Observer observer;
    observer.add(report(0, {.utilisation = row.cpu, .memory = row.heap}));
    EXPECT_NEAR(observer.at(at(0)).utilisation->value, row.want, 1e-12) << row.name;
    EXPECT_DOUBLE_EQ(observer.at(at(0)).memory->value, row.heap) << row.name;
  }
}

TEST(Observer, AHeapAloneIsNoUtilisation) {
  Observer observer;
  observer.add(report(0, {.score = 50, .memory = 0.95}));
  EXPECT_FALSE(observer.at(at(0)).utilisation);
}

TEST(Observer, RequestsInFlightVetoAnIdleProcessorWhereALimitIsKnown) {
  Observer observer({.max_in_flight = 40});
  observer.add(model::TrafficSample{.at = at(0), .in_flight = 30});
  observer.add(report(0, {.utilisation = 0.2}));
  EXPECT_DOUBLE_EQ(observer.at(at(0)).utilisation->value, 0.75);
}

TEST(Observer, AMissingScoreIsComputedByTheDefaultRule) {
  Observer observer;
  observer.add(
      report(0, {.memory = 0.9, .gc_count = 90'000, .average_response = milliseconds(600)}));
  EXPECT_DOUBLE_EQ(observer.at(at(0)).score->value, 75);
  EXPECT_EQ(observer.at(at(0)).reported_latency->value, base::Duration(milliseconds(600)));
  observer.add(
      report(60, {.memory = 0.5, .gc_count = 90'008, .average_response = milliseconds(10)}));
  EXPECT_DOUBLE_EQ(observer.at(at(60)).score->value, 94);  // 8 a minute; the 75 had expired by then
}

TEST(Observer, AReportWithoutAnyFactHasNoScore) {
  Observer observer;
  observer.add(report(0, {}));
  EXPECT_FALSE(observer.at(at(0)).score);
  EXPECT_EQ(observer.at(at(0)).reports, 1U);
}

TEST(Observer, ASignalOlderThanThreeIntervalsIsUnknown) {
  Observer observer({.interval = seconds(10)});
  observer.add(report(0, {.score = 90, .utilisation = 0.5, .memory = 0.4}));
  EXPECT_TRUE(observer.at(at(30)).score);
  const auto late = observer.at(at(30.001));
  EXPECT_FALSE(late.score);
  EXPECT_FALSE(late.utilisation);
  EXPECT_FALSE(late.memory);
  EXPECT_EQ(late.reports, 1U);
}

TEST(Observer, AnExpiryCanBeSet) {
  Observer observer({.interval = seconds(10), .expiry = seconds(90)});
  observer.add(score(0, 90));
  EXPECT_TRUE(observer.at(at(90)).score);
  EXPECT_FALSE(observer.at(at(91)).score);
  EXPECT_EQ(ScoreOptions{}.expires_after(), base::Duration(seconds(30)));
}

TEST(Observer, SmoothingRestartsAfterASilence) {
  Observer observer;
  for (int i = 0; i < 5; ++i) observer.add(report(10 * i, {.score = 100, .utilisation = 0.1}));
  observer.add(report(500, {.score = 20, .utilisation = 0.9}));
  EXPECT_DOUBLE_EQ(observer.at(at(500)).score->value, 20);
  EXPECT_DOUBLE_EQ(observer.at(at(500)).utilisation->value, 0.9);
  EXPECT_EQ(observer.at(at(500)).score->samples, 6U);
}

TEST(Observer, TellsARefusalFromAnUnknownAnswer) {
  struct Row {
    std::string_view name;
    ReportOutcome outcome;
    bool failed, score;
  };
  constexpr std::array rows{
      Row{"refused", ReportOutcome::kRefused, true, true},
      Row{"timed out", ReportOutcome::kTimeout, true, true},
      Row{"404", ReportOutcome::kNotFound, false, false},
      Row{"unreadable", ReportOutcome::kBad, false, false},
  };
  for (const Row& row : rows) {
    Observer observer;
    observer.add(score(0, 90));
    observer.add(failed(10, row.outcome));
    EXPECT_EQ(observer.at(at(10)).report_failed, row.failed) << row.name;
    EXPECT_EQ(observer.at(at(10)).score.has_value(), row.score) << row.name;
    EXPECT_EQ(observer.at(at(10)).reports, 2U) << row.name;
    observer.add(score(20, 90));
    EXPECT_FALSE(observer.at(at(20)).report_failed) << row.name;
    EXPECT_DOUBLE_EQ(observer.at(at(20)).score->value, 90) << row.name;
  }
}

TEST(Observer, AFailureExpiresToo) {
  Observer observer;
  observer.add(failed(0, ReportOutcome::kRefused));
  EXPECT_TRUE(observer.at(at(30)).report_failed);
  EXPECT_FALSE(observer.at(at(31)).report_failed);
}

TEST(Observer, ResetForgetsEverythingOfTheFormerIncarnation) {
  Observer observer;
  observer.add(report(0, {.score = 10, .utilisation = 0.9}));
  observer.add(model::TrafficSample{.at = at(0), .successes = 100});
  observer.add(model::TrafficSample{.at = at(1), .successes = 200});
  observer.reset();
  EXPECT_EQ(observer.at(at(1)), model::Observation{});
  observer.add(model::TrafficSample{.at = at(2), .successes = 300});
  EXPECT_FALSE(observer.at(at(2)).rate);
  observer.add(model::TrafficSample{.at = at(3), .successes = 310});
  EXPECT_NEAR(observer.at(at(3)).rate->value, 10, 1e-9);
}

// Rate and utilisation are averaged over the same time, so that a change of the split does not bend
// their quotient.
TEST(Observer, TheQuotientOfRateAndUtilisationDoesNotSeeAChangeOfTheSplit) {
  Observer observer({.interval = seconds(1)});
  constexpr double kCapacity = 200;
  double count = 0;
  observer.add(model::TrafficSample{.at = at(0)});
  observer.add(report(0, {.utilisation = 0.5}));
  for (int i = 1; i <= 60; ++i) {
    const double rate = i <= 30 ? 100 : 40;
    count += rate;
    observer.add(model::TrafficSample{.at = at(i), .successes = static_cast<std::uint64_t>(count)});
    observer.add(report(i, {.utilisation = rate / kCapacity}));
    const auto seen = observer.at(at(i));
    EXPECT_NEAR(seen.rate->value / seen.utilisation->value, kCapacity, 0.02 * kCapacity) << i;
  }
}

}  // namespace
}  // namespace steelyard::sense
