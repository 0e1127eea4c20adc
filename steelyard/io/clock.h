// The clocks, for the rim only: the pure half gets `now` as an argument.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "steelyard/base/time.h"

namespace steelyard::io {

using WallTime = std::chrono::time_point<std::chrono::system_clock, std::chrono::nanoseconds>;

[[nodiscard]] base::TimePoint steady_now() noexcept;
[[nodiscard]] WallTime wall_now() noexcept;
[[nodiscard]] std::int64_t unix_now() noexcept;  // wall time in whole seconds
// RFC 3339 in UTC with milliseconds: "2026-03-01T12:00:00.250Z".
[[nodiscard]] std::string rfc3339(WallTime at);
// The wall time of a steady instant, given one pair read together.
[[nodiscard]] inline WallTime wall_of(base::TimePoint at, base::TimePoint steady,
                                      WallTime wall) noexcept {
  return wall + (at - steady);
}

}  // namespace steelyard::io
