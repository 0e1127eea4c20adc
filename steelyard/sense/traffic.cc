#include "steelyard/sense/traffic.h"

#include <algorithm>
#include <cmath>

namespace steelyard::sense {

namespace {

std::uint64_t failed_of(const model::TrafficSample& sample) noexcept {
  return sample.failures + sample.connect_failures;
}

bool went_back(const model::TrafficSample& from, const model::TrafficSample& to) noexcept {
  return to.successes < from.successes || to.failures < from.failures ||
         to.connect_failures < from.connect_failures;
}

// Mean of a histogram, each value taken as the middle of its bucket: within the histogram's own
// error.
base::Duration mean_of(const base::Histogram& histogram) noexcept {
  double sum_us = 0;
  double count = 0;
  for (std::size_t i = 0; i < base::HistogramShape::kBuckets; ++i) {
    const double n = histogram.counts()[i];
    if (n == 0) continue;
    const double low = static_cast<double>(base::HistogramShape::lower(i));
    const double high = static_cast<double>(base::HistogramShape::lower(i + 1));
    sum_us += n * (low + high) / 2;
    count += n;
  }
  return count == 0 ? base::Duration{} : base::from_seconds(sum_us / count * 1e-6);
}

}  // namespace

Traffic::Traffic(const TrafficOptions& options)
    : options_(options), rate_(options.rate_tau), mean_rate_(options.mean_tau) {}

void Traffic::reset() { *this = Traffic(options_); }

void Traffic::add(const model::TrafficSample& sample) {
  if (last_ && went_back(*last_, sample)) reset();
  if (!last_) {
    last_ = sample;
    add_latency(sample);
    return;
  }
  if (sample.at <= last_->at) return;
  const base::Duration held = sample.at - last_->at;
  const auto good = static_cast<double>(sample.successes - last_->successes);
  const auto bad = static_cast<double>(failed_of(sample) - failed_of(*last_));

  const double rate = (good + bad) / base::seconds(held);
  rate_.add(rate, held);
  mean_rate_.add(rate, held);
  ++samples_;

  const double fade = std::exp(-base::seconds(held) / base::seconds(options_.error_tau));
  finished_ = finished_ * fade + good + bad;
  failed_ = failed_ * fade + bad;
  if (good + bad > 0) {
    ++error_samples_;
    finished_at_ = sample.at;
  }
  if (good > 0) {
    ++latency_samples_;
    succeeded_at_ = sample.at;
  }
  last_ = sample;
  add_latency(sample);
}

void Traffic::add_latency(const model::TrafficSample& sample) {
  constexpr std::size_t kMarks = kParts + 1;
  while (size_ > 1 && sample.at - marks_[(first_ + 1) % kMarks].at >= options_.window) {
    first_ = (first_ + 1) % kMarks;
    --size_;
  }
  if (size_ > 0) {
    const Mark& newest = marks_[(first_ + size_ - 1) % kMarks];
    if (sample.at - newest.at < options_.window / kParts) return;
  }
  if (size_ == kMarks) {
    first_ = (first_ + 1) % kMarks;
    --size_;
  }
  marks_[(first_ + size_) % kMarks] = {sample.at, sample.head_latency};
  ++size_;
}

void Traffic::read(base::TimePoint now, model::Observation& out) const {
  if (!last_) return;
  out.in_flight = last_->in_flight;
  if (const auto rate = rate_.value()) out.rate = {*rate, last_->at, samples_};
  if (const auto rate = mean_rate_.value()) out.mean_rate = {*rate, last_->at, samples_};
  const double idle = std::max(0.0, base::seconds(now - last_->at));
  const double left = finished_ * std::exp(-idle / base::seconds(options_.error_tau));
  if (left >= options_.min_volume)
    out.error_rate = {failed_ / finished_, finished_at_, error_samples_};
  read_latency(out);
}

void Traffic::read_latency(model::Observation& out) const {
  if (size_ == 0) return;
  const base::Histogram window = last_->head_latency.since(marks_[first_].counts);
  const auto p50 = window.quantile(0.5);
  if (!p50) return;
  out.latency_p50 = {*p50, succeeded_at_, latency_samples_};
  out.latency_p99 = {*window.quantile(0.99), succeeded_at_, latency_samples_};
  out.latency_mean = {mean_of(window), succeeded_at_, latency_samples_};
}

}  // namespace steelyard::sense
