// Gradient: a concurrency limit that follows latency: while a node answers about as fast as it used
// to, its limit grows by a few; when answers take longer than `kTolerance` × what they took over
// the long run, requests are queueing inside it and the limit falls.
//
//   long ← EMA over 600 windows;  if long / short > 2: long × 0.95
//   in flight < L / 2: unchanged (the limit is not what holds the traffic)
//   g = clamp(1.5 · long / short, 0.5, 1);  L ← 0.8 · L + 0.2 · (L · g + 4), within [min, max]
// A window is at least 1 s and 10 answers; its short latency is their mean, its in-flight the most.
//
// Source: Netflix concurrency-limits, Gradient2 in a windowed limit; its defaults. Known weakness:
// under an overload that lasts for tens of minutes the long run learns the overload.
// Cost: an addition an answer, O(1) a window. Owned by one worker; several share a node's limit by
// each moving the common one in its own windows.
#pragma once

#include <cstdint>
#include <optional>

#include "steelyard/base/time.h"

namespace steelyard::request {

// One step. Latencies in seconds, > 0.
[[nodiscard]] double gradient_step(double limit, double long_run, double short_run,
                                   double in_flight, double least, double most) noexcept;

class Gradient {
 public:
  // An answer came. At the end of a window: the limit that follows from `limit`.
  std::optional<double> answered(base::Duration took, std::uint32_t in_flight, double limit,
                                 double least, double most, base::TimePoint now) noexcept;
  [[nodiscard]] double long_run() const noexcept { return long_; }

 private:
  void learn(double short_run) noexcept;

  base::TimePoint window_end_ = base::TimePoint::min();
  double sum_ = 0;
  double long_ = 0;
  std::uint32_t count_ = 0;
  std::uint32_t most_in_flight_ = 0;
  std::uint32_t windows_ = 0;
};

}  // namespace steelyard::request
