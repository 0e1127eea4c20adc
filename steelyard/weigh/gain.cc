#include "steelyard/weigh/gain.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace steelyard::weigh {

double k_max(double d, double alpha) noexcept {
  constexpr double kPi = std::numbers::pi;
  const double keep = 1 - alpha;
  const auto excess = [&](double theta) {
    const double smooth = std::atan2(keep * std::sin(theta), 1 - keep * std::cos(theta));
    return (d + 0.5) * theta + smooth - kPi / 2;
  };
  // The left side starts at −π/2 and crosses zero once at most before π; no crossing: the
  // alternating mode at π limits.
  double low = 0;
  double high = kPi;
  double last = kPi / 64;
  while (last < kPi && excess(last) < 0) {
    low = last;
    last += kPi / 64;
  }
  high = std::min(last, kPi);
  if (excess(high) >= 0) {
    for (int i = 0; i < 50; ++i) {
      const double middle = (low + high) / 2;
      (excess(middle) < 0 ? low : high) = middle;
    }
  }
  const double real = 1 - keep * std::cos(high);
  const double imaginary = keep * std::sin(high);
  return 2 * std::sin(high / 2) * std::hypot(real, imaginary) / alpha;
}

double gain(double d, double alpha) noexcept {
  return std::min(1.0, k_max(std::max(d, 0.0), alpha) / 3);
}

}  // namespace steelyard::weigh
