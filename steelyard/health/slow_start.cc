#include "steelyard/health/slow_start.h"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace steelyard::health {

double slow_start_factor(base::Duration t, base::Duration window, double aggression) {
  if (window <= base::Duration::zero() || t >= window) return 1;
  const double part = base::seconds(std::max<base::Duration>(t, std::chrono::milliseconds(1))) /
                      base::seconds(window);
  return std::clamp(aggression == 1 ? part : std::pow(part, 1 / aggression), kRampFloor, 1.0);
}

}  // namespace steelyard::health
