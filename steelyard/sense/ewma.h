// Exponentially weighted averages: one over samples (plain α), one over time (half of an old value
// is gone after τ·ln 2).
//
// Ewma      s ← α·x + (1 − α)·s, the first sample is taken whole. α in (0, 1].
// TimedEwma s ← x + (s − x)·e^(−Δt/τ): what a sample weighs depends on how long it stands for, so
// that uneven ticks and
//           different rates give the same average. Time that does not move forward adds nothing but
//           the first sample.
// Both are empty until the first sample: unknown is not zero. Cost: O(1), no allocation. One owner.
#pragma once

#include <cmath>
#include <optional>

#include "steelyard/base/time.h"

namespace steelyard::sense {

class Ewma {
 public:
  explicit constexpr Ewma(double alpha = 0.3) noexcept : alpha_(alpha) {}

  constexpr void add(double x) noexcept {
    value_ = value_ ? alpha_ * x + (1 - alpha_) * *value_ : x;
  }
  [[nodiscard]] constexpr std::optional<double> value() const noexcept { return value_; }
  constexpr void reset() noexcept { value_.reset(); }

 private:
  double alpha_;
  std::optional<double> value_;
};

class TimedEwma {
 public:
  explicit TimedEwma(base::Duration tau) noexcept : tau_(base::seconds(tau)) {}

  // `x` held from the sample before until `now`.
  void add(double x, base::TimePoint now) noexcept {
    if (!value_) {
      value_ = x;
    } else if (now > at_) {
      value_ = x + (*value_ - x) * std::exp(-base::seconds(now - at_) / tau_);
    }
    if (now > at_) at_ = now;
  }
  [[nodiscard]] std::optional<double> value() const noexcept { return value_; }
  void reset() noexcept { value_.reset(); }

  // The τ at which a timed average over samples every `interval` equals a plain one with `alpha` in
  // (0, 1).
  static base::Duration tau_of(double alpha, base::Duration interval) noexcept {
    return base::from_seconds(-base::seconds(interval) / std::log1p(-alpha));
  }

 private:
  double tau_;
  base::TimePoint at_{};
  std::optional<double> value_;
};

}  // namespace steelyard::sense
