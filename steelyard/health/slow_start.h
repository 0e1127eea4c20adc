// Slow start: the share of its weight that a node has, a time t after its ramp began.
//
//   factor = max(0.1, (max(t, 1 ms) / window)^(1 / aggression)), 1 from t = window on
//
// Source: Envoy's slow start mode. Unit: factor of the weight, 0.1 … 1. A window of 0 means no
// ramp. Pure; O(1).
#pragma once

#include "steelyard/base/time.h"

namespace steelyard::health {

inline constexpr double kRampFloor = 0.1;  // Envoy's min_weight_percent
// A ramp moves in this many steps, so that a Table is published for a step one can see and not for
// every tick.
inline constexpr int kRampSteps = 100;

[[nodiscard]] double slow_start_factor(base::Duration t, base::Duration window,
                                       double aggression = 1);

}  // namespace steelyard::health
