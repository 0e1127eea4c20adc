// Latency: how long an upstream takes to answer, as one worker has seen it lately: from the end of
// the request to the head of the answer, answers below 500.
//
// Two histograms of 10 s each, so that a quantile speaks of the last 10 to 20 s; quantiles are
// worked out once a second at most. Unknown below kEnough answers: then nothing is hedged or
// derived. Shared by all routes to the upstream. Relative error ≤ 6.3 % (base::Histogram). Cost:
// add O(1), O(buckets) once a second. Owned by one worker.
#pragma once

#include <cstdint>
#include <optional>

#include "steelyard/base/histogram.h"
#include "steelyard/base/time.h"

namespace steelyard::request {

class Latency {
 public:
  static constexpr std::uint64_t kEnough = 100;
  struct Quantiles {
    base::Duration p50{};
    base::Duration p95{};
    base::Duration p99{};
  };

  void add(base::Duration took, base::TimePoint now) noexcept;
  // Nothing: not known, or no answer for 20 s.
  [[nodiscard]] const std::optional<Quantiles>& quantiles(base::TimePoint now) noexcept;

 private:
  void roll(base::TimePoint now) noexcept;
  void work_out() noexcept;

  base::Histogram now_;
  base::Histogram before_;
  std::optional<Quantiles> quantiles_;
  base::TimePoint next_half_ = base::TimePoint::min();
  base::TimePoint next_look_ = base::TimePoint::min();
};

}  // namespace steelyard::request
