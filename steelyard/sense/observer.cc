#include "steelyard/sense/observer.h"

#include <algorithm>

#include "steelyard/sense/default_score.h"

namespace steelyard::sense {

namespace {

TrafficOptions traffic_options(const ObserverOptions& options) {
  TrafficOptions traffic = options.traffic;
  traffic.rate_tau = TimedMean::tau_of(options.alpha, options.interval);
  return traffic;
}

template <typename T>
void put(std::optional<model::Signal<T>>& signal, T value, base::TimePoint at) {
  const std::uint64_t samples = signal ? signal->samples : 0;
  signal = model::Signal<T>{value, at, samples + 1};
}

}  // namespace

Observer::Observer(const ObserverOptions& options)
    : options_(options),
      score_mean_(options.score_window),
      utilisation_ewma_(options.alpha),
      traffic_(traffic_options(options)) {}

void Observer::reset() { *this = Observer(options_); }

void Observer::add(const model::TrafficSample& sample) { traffic_.add(sample); }

void Observer::add(const model::ReportSample& sample) {
  ++reports_;
  reported_at_ = sample.at;
  outcome_ = sample.outcome;
  if (sample.outcome == model::ReportOutcome::kOk) take(sample.report, sample.at);
}

void Observer::take(const model::LoadReport& report, base::TimePoint at) {
  const base::Duration expiry = options_.expires_after();
  if (score_ && score_->age(at) > expiry) score_mean_.reset();
  if (utilisation_ && utilisation_->age(at) > expiry) utilisation_ewma_.reset();

  if (report.gc_count) gc_.add(*report.gc_count, at);
  const auto score = report.score
                         ? report.score
                         : default_score(report, report.gc_count ? gc_.per_minute() : std::nullopt);
  if (score) {
    score_mean_.add(*score);
    put(score_, *score_mean_.value(), at);
  }

  std::optional<double> used = report.utilisation;
  if (options_.max_in_flight != 0) {
    const double queue =
        static_cast<double>(traffic_.in_flight()) / static_cast<double>(options_.max_in_flight);
    used = std::max(used.value_or(0), queue);
  }
  if (used && report.memory && *report.memory > options_.heap_limit) {
    used = std::max(*used, *report.memory / options_.heap_limit);
  }
  if (used) {
    utilisation_ewma_.add(*used);
    put(utilisation_, *utilisation_ewma_.value(), at);
  }
  if (report.memory) put(memory_, *report.memory, at);
  if (report.average_response) put(reported_latency_, *report.average_response, at);
}

model::Observation Observer::at(base::TimePoint now) const {
  model::Observation out;
  traffic_.read(now, out);
  out.reports = reports_;
  out.reported_at = reported_at_;

  const base::Duration expiry = options_.expires_after();
  const bool fresh = reports_ != 0 && now - reported_at_ <= expiry;
  const bool failed =
      outcome_ == model::ReportOutcome::kRefused || outcome_ == model::ReportOutcome::kTimeout;
  out.report_failed = fresh && failed;
  if (!fresh || !(failed || outcome_ == model::ReportOutcome::kOk)) return out;

  const auto show = [&](const auto& signal, auto& to) {
    if (signal && signal->age(now) <= expiry) to = signal;
  };
  show(score_, out.score);
  show(utilisation_, out.utilisation);
  show(memory_, out.memory);
  show(reported_latency_, out.reported_latency);
  return out;
}

}  // namespace steelyard::sense
