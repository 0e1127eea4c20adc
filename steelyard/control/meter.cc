#include "steelyard/control/meter.h"

#include <algorithm>

namespace steelyard::control {
namespace {

constexpr base::Duration kHeadsFor = std::chrono::milliseconds(250);

std::uint64_t failed(const model::WorkerCells& cells) {
  return cells.failures.read() + cells.connect_failures.read();
}

// All but the histogram.
Counts light_counts(const model::Slots& slots, model::NodeRef ref) {
  Counts sum;
  for (std::uint32_t w = 0; w < slots.workers(); ++w) {
    const model::WorkerCells& cells = slots.cells(ref, w);
    sum.attempts += cells.attempts.read();
    sum.retries += cells.retries.read();
    sum.successes += cells.successes.read();
    sum.failures += cells.failures.read();
    sum.connect_failures += cells.connect_failures.read();
    sum.refused += cells.refused.read();
    sum.timeouts += cells.timeouts.read();
  }
  return sum;
}

base::Histogram heads(const model::Slots& slots, model::NodeRef ref) {
  base::Histogram sum;
  for (std::uint32_t w = 0; w < slots.workers(); ++w)
    sum.merge(slots.cells(ref, w).head_latency.read());
  return sum;
}

}  // namespace

void Counts::add(const Counts& other) noexcept {
  attempts += other.attempts;
  retries += other.retries;
  successes += other.successes;
  failures += other.failures;
  connect_failures += other.connect_failures;
  refused += other.refused;
  timeouts += other.timeouts;
  head_latency.merge(other.head_latency);
}

Counts Counts::since(const Counts& earlier) const noexcept {
  Counts diff;
  diff.attempts = attempts - earlier.attempts;
  diff.retries = retries - earlier.retries;
  diff.successes = successes - earlier.successes;
  diff.failures = failures - earlier.failures;
  diff.connect_failures = connect_failures - earlier.connect_failures;
  diff.refused = refused - earlier.refused;
  diff.timeouts = timeouts - earlier.timeouts;
  diff.head_latency = head_latency.since(earlier.head_latency);
  return diff;
}

Counts total_counts(const model::Slots& slots, model::NodeRef ref) {
  Counts sum = light_counts(slots, ref);
  sum.head_latency = heads(slots, ref);
  return sum;
}

Meter::Meter(const model::Slots& slots, model::NodeRef ref)
    : ref_(ref), baseline_(total_counts(slots, ref)), streak_base_(slots.workers()) {
  restart_streaks(slots);
}

void Meter::restart_streaks(const model::Slots& slots) {
  for (std::uint32_t w = 0; w < slots.workers(); ++w)
    streak_base_[w] = failed(slots.cells(ref_, w));
}

const model::TrafficSample& Meter::read(const model::Slots& slots, base::TimePoint now) {
  const Counts sum = light_counts(slots, ref_);
  last_.at = now;
  last_.attempts = sum.attempts - baseline_.attempts;
  last_.successes = sum.successes - baseline_.successes;
  last_.failures = sum.failures - baseline_.failures;
  last_.connect_failures = sum.connect_failures - baseline_.connect_failures;
  last_.refused = sum.refused - baseline_.refused;
  last_.timeouts = sum.timeouts - baseline_.timeouts;
  last_.in_flight = slots.in_flight(ref_);
  last_.failure_streak = 0;
  for (std::uint32_t w = 0; w < slots.workers(); ++w) {
    const model::WorkerCells& cells = slots.cells(ref_, w);
    const std::uint64_t counted = failed(cells) - streak_base_[w];
    const std::uint64_t streak = std::min<std::uint64_t>(cells.failure_streak.read(), counted);
    last_.failure_streak = std::max(last_.failure_streak, static_cast<std::uint32_t>(streak));
  }
  if (last_.successes != answered_ && (answered_ == 0 || now - heads_at_ >= kHeadsFor)) {
    answered_ = last_.successes;
    heads_at_ = now;
    last_.head_latency = heads(slots, ref_).since(baseline_.head_latency);
  }
  return last_;
}

Counts Meter::counts(const model::Slots& slots) const {
  return total_counts(slots, ref_).since(baseline_);
}

std::uint64_t Meter::pooled(const model::Slots& slots) const {
  std::uint64_t sum = 0;
  for (std::uint32_t w = 0; w < slots.workers(); ++w) sum += slots.cells(ref_, w).pooled.read();
  return sum;
}

}  // namespace steelyard::control
