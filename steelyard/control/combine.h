// The one place where a node's weight is put together, and where health, drain and panic meet.
//
//   weight = (override, else base × control) × ramp          0 only when drained
//   in panic the nodes that are usable keep at least 30 % together: their weights are raised by one
//   factor
#pragma once

#include <cstddef>
#include <optional>

#include "steelyard/model/eligibility.h"

namespace steelyard::control {

struct Factors {
  double base = 1;                  // configured, ≥ 0
  double control = 1;               // > 0
  double ramp = 1;                  // 0.1 … 1
  std::optional<double> override_;  // base units, ≥ 0
};

[[nodiscard]] constexpr bool drained(const Factors& f) noexcept {
  return f.override_.value_or(f.base) <= 0;
}

// Before the ramp, base units.
[[nodiscard]] constexpr double full_weight(const Factors& f) noexcept {
  return f.override_ ? *f.override_ : f.base * f.control;
}
[[nodiscard]] constexpr double effective_weight(const Factors& f) noexcept {
  return drained(f) ? 0 : full_weight(f) * f.ramp;
}
[[nodiscard]] constexpr model::Eligibility eligibility(const Factors& f,
                                                       model::Eligibility health) noexcept {
  return drained(f) ? model::Eligibility::kDraining : health;
}

inline constexpr double kPanicBelow =
    0.5;  // healthy share of the nodes that are not drained; Envoy's default
inline constexpr double kPanicUsableShare = 0.3;  // what usable nodes keep

[[nodiscard]] constexpr bool panics(std::size_t healthy, std::size_t not_drained) noexcept {
  return not_drained > 0 &&
         static_cast<double>(healthy) < kPanicBelow * static_cast<double>(not_drained);
}
// The factor for the usable nodes' weights in panic, given the sums of both sides.
[[nodiscard]] constexpr double panic_lift(double usable, double others) noexcept {
  if (usable <= 0 || usable >= kPanicUsableShare * (usable + others)) return 1;
  return kPanicUsableShare * others / ((1 - kPanicUsableShare) * usable);
}

}  // namespace steelyard::control
