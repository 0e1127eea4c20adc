// What our own traffic says of a node: rate, mean rate, error rate and latencies, from growing
// counters.
//
// Each sample is compared with the one before; the first is only a baseline, and so is one whose
// counters went back (the node moved to other counters). Finished attempts = successes + failures +
// connect failures; time-outs are failures.
//
//   rate        finished a second, averaged over time with τ = rate_tau
//   mean_rate   the same with τ = mean_tau: the node's own past
//   error_rate  failed/finished, both fading with τ = error_tau: an average weighted by volume;
//               unknown while less than `min_volume` finished are left in it
//   latency     quantiles and mean of the answer heads of the last `window` (in steps of a fifth of
//               it); unknown when there are none
//
// Cost: O(1) a sample, O(buckets) a reading. Memory: about 6 KiB. One owner.
#pragma once

#include <array>
#include <cstddef>
#include <optional>

#include "steelyard/base/histogram.h"
#include "steelyard/base/time.h"
#include "steelyard/model/observation.h"
#include "steelyard/model/sample.h"
#include "steelyard/sense/ewma.h"

namespace steelyard::sense {

struct TrafficOptions {
  base::Duration rate_tau = std::chrono::seconds(28);  // Observer sets it to match the utilisation
  base::Duration mean_tau =
      std::chrono::minutes(10);  // guess: long against a dip, short against a day
  base::Duration error_tau =
      std::chrono::seconds(10);  // guess: a second of 100 % errors shows as 10 %
  double min_volume = 20;
  base::Duration window = std::chrono::seconds(10);
};

class Traffic {
 public:
  explicit Traffic(const TrafficOptions& options);

  void add(const model::TrafficSample& sample);
  // Fills the traffic part of `out`.
  void read(base::TimePoint now, model::Observation& out) const;
  [[nodiscard]] std::uint32_t in_flight() const noexcept { return last_ ? last_->in_flight : 0; }
  void reset();

 private:
  void add_latency(const model::TrafficSample& sample);
  void read_latency(model::Observation& out) const;

  static constexpr std::size_t kParts = 5;
  struct Mark {
    base::TimePoint at{};
    base::Histogram counts;
  };

  TrafficOptions options_;
  std::optional<model::TrafficSample> last_;
  TimedMean rate_;
  TimedMean mean_rate_;
  double finished_ = 0;  // fading, as of last_->at
  double failed_ = 0;
  std::uint64_t samples_ = 0;        // with a rate
  std::uint64_t error_samples_ = 0;  // in which something finished
  std::uint64_t latency_samples_ = 0;
  base::TimePoint finished_at_{};  // newest sample in which something finished
  base::TimePoint succeeded_at_{};
  std::array<Mark, kParts + 1> marks_;  // readings of the growing histogram, oldest at first_
  std::size_t first_ = 0;
  std::size_t size_ = 0;
};

}  // namespace steelyard::sense
