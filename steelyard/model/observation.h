// Observation: the smoothed state of one node, with the age of every signal. What sense makes and
// weigh and health read.
//
// Empty optional = unknown (never measured, or expired): never zero, never a win. Ages tell how old
// the newest sample of a signal is at `now`.
#pragma once

#include <cstdint>
#include <optional>

#include "steelyard/base/time.h"

namespace steelyard::model {

template <typename T>
struct Signal {
  T value{};
  base::TimePoint at{};  // of the newest sample in it
  std::uint64_t samples =
      0;  // how many went in since it was last reset: a new one is a new step for the controllers
  [[nodiscard]] base::Duration age(base::TimePoint now) const noexcept { return now - at; }
  friend bool operator==(const Signal&, const Signal&) = default;
};

struct Observation {
  std::optional<Signal<double>> score;        // 0 … 100, rolling mean of 5
  std::optional<Signal<double>> utilisation;  // 0 … 1, EWMA
  std::optional<Signal<double>> memory;       // 0 … 1, newest
  std::optional<Signal<double>>
      rate;  // finished attempts a second, EWMA over ticks, our own traffic
  std::optional<Signal<double>>
      mean_rate;  // the same over a long horizon: the node's own historical mean
  std::optional<Signal<double>>
      error_rate;  // 0 … 1 of finished attempts, EWMA; empty below the minimum volume
  std::optional<Signal<base::Duration>> latency_p50;  // answer head, last window
  std::optional<Signal<base::Duration>> latency_p99;
  std::optional<Signal<base::Duration>> latency_mean;
  std::uint32_t in_flight = 0;
  // The report channel itself.
  std::optional<Signal<base::Duration>>
      reported_latency;  // what the node says its mean response time is
  std::uint64_t reports =
      0;  // report samples so far, of any outcome: each is a step for a report-driven controller
  base::TimePoint reported_at{};  // of the newest of them
  bool report_failed =
      false;  // last report refused or timed out: a failed check and the floor weight

  friend bool operator==(const Observation&, const Observation&) = default;
};

}  // namespace steelyard::model
