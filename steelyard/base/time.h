// Time as values. The pure half never asks for the time: it gets `now` as an argument.
//
// Both are nanoseconds on the steady clock; wall-clock time is for people and lives in the rim.
#pragma once

#include <chrono>

namespace steelyard::base {

using Duration = std::chrono::nanoseconds;
using TimePoint = std::chrono::time_point<std::chrono::steady_clock, Duration>;

// Seconds as a number, for formulas and for output (`…_seconds`).
[[nodiscard]] constexpr double seconds(Duration d) noexcept {
  return std::chrono::duration<double>(d).count();
}
[[nodiscard]] constexpr Duration from_seconds(double s) noexcept {
  return std::chrono::round<Duration>(std::chrono::duration<double>(s));
}

}  // namespace steelyard::base
