// Observer: turns the samples of one node into its Observation.
//
// Score: rolling mean of the last `score_window`. A report without a score gets the default rule's
// (default_score.h), with collections a minute from differences of `gc_count`.
//
// Utilisation: EWMA (α 0.3) of max(CPU, in-flight/limit), raised to heap/0.85 while the heap is
// above 85 %: a veto. Below that limit the heap says nothing about load, and a rate divided by it
// would feed on itself.
//
// Traffic: rate, mean rate, error rate, latencies (traffic.h). The rate is averaged over the same
// time as the utilisation, so that their quotient does not depend on the split of the moment.
//
// Unknown: a report signal is unknown until the first report, when older than `expiry` (3 ×
// interval by default), and while the newest report is one that told nothing (404, unreadable).
// Refused and timed out set `report_failed` and leave the values to age.
//
// Cost: O(1) a sample and a reading (a few hundred bucket operations for the latencies). Memory:
// about 6 KiB. Owned by control, one a node; `reset` when another incarnation takes the name.
#pragma once

#include <cstdint>
#include <optional>

#include "steelyard/base/time.h"
#include "steelyard/model/observation.h"
#include "steelyard/model/sample.h"
#include "steelyard/sense/ewma.h"
#include "steelyard/sense/gc_rate.h"
#include "steelyard/sense/rolling_mean.h"
#include "steelyard/sense/traffic.h"

namespace steelyard::sense {

struct ObserverOptions {
  base::Duration interval = std::chrono::seconds(10);  // between two reports
  std::optional<base::Duration> expiry;                // of reports; empty: 3 × interval
  std::size_t score_window = 5;                        // 1 … RollingMean::kMax
  double alpha = 0.3;                                  // of the utilisation, (0, 1]
  double heap_limit = 0.85;                            // above it the heap vetoes, (0, 1]
  std::uint32_t max_in_flight = 0;  // the node's limit; 0: none, in-flight says nothing
  TrafficOptions traffic;

  [[nodiscard]] base::Duration expires_after() const noexcept {
    return expiry.value_or(3 * interval);
  }
};

class Observer {
 public:
  explicit Observer(const ObserverOptions& options = {});

  void add(const model::ReportSample& sample);
  void add(const model::TrafficSample& sample);
  [[nodiscard]] model::Observation at(base::TimePoint now) const;
  // Forgets everything: another incarnation of the node. The next traffic sample is a baseline
  // only.
  void reset();

 private:
  void take(const model::LoadReport& report, base::TimePoint at);

  ObserverOptions options_;
  RollingMean score_mean_;
  Ewma utilisation_ewma_;
  GcRate gc_;
  Traffic traffic_;
  // Values as of the newest report that carried them; smoothing restarts after an expiry.
  std::optional<model::Signal<double>> score_;
  std::optional<model::Signal<double>> utilisation_;
  std::optional<model::Signal<double>> memory_;
  std::optional<model::Signal<base::Duration>> reported_latency_;
  std::uint64_t reports_ = 0;
  base::TimePoint reported_at_{};
  model::ReportOutcome outcome_ = model::ReportOutcome::kBad;
};

}  // namespace steelyard::sense
