// Moving averages: one over samples (plain α), one over time.
//
// Ewma: s ← α·x + (1 − α)·s; the first sample is taken whole. α in (0, 1].
//
// TimedMean: mean of a value weighted by e^(−age/τ). What a value weighs depends on how long it
// held, so that uneven ticks give the same average. At first it is the mean of what there was, so
// that an odd first moment does not stay for τ. With even samples and a long history it is an Ewma
// with α = 1 − e^(−Δt/τ).
//
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

class TimedMean {
 public:
  explicit TimedMean(base::Duration tau) noexcept : tau_(base::seconds(tau)) {}

  // `x` held for the last `held`; nothing happens unless that is positive.
  void add(double x, base::Duration held) noexcept {
    if (held <= base::Duration::zero()) return;
    const double fade = std::exp(-base::seconds(held) / tau_);
    weight_ = weight_ * fade + (1 - fade);
    sum_ = sum_ * fade + x * (1 - fade);
  }
  [[nodiscard]] std::optional<double> value() const noexcept {
    if (weight_ <= 0) return std::nullopt;
    return sum_ / weight_;
  }
  void reset() noexcept { sum_ = weight_ = 0; }

  // The τ at which a timed mean over samples every `interval` fades as an Ewma with `alpha` does. α
  // = 1: one interval.
  static base::Duration tau_of(double alpha, base::Duration interval) noexcept {
    if (alpha >= 1) return interval;
    return base::from_seconds(-base::seconds(interval) / std::log1p(-alpha));
  }

 private:
  double tau_;
  double sum_ = 0;
  double weight_ = 0;
};

}  // namespace steelyard::sense
