#include "steelyard/io/clock.h"

#include <array>
#include <cstdio>
#include <ctime>

namespace steelyard::io {

base::TimePoint steady_now() noexcept {
  return std::chrono::time_point_cast<base::Duration>(std::chrono::steady_clock::now());
}

WallTime wall_now() noexcept {
  return std::chrono::time_point_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now());
}

std::int64_t unix_now() noexcept {
  return std::chrono::floor<std::chrono::seconds>(wall_now()).time_since_epoch().count();
}

std::string rfc3339(WallTime at) {
  const auto whole = std::chrono::floor<std::chrono::seconds>(at);
  const auto milliseconds = std::chrono::floor<std::chrono::milliseconds>(at - whole).count();
  const std::time_t seconds = whole.time_since_epoch().count();
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  std::array<char, 32> day{};
  const std::size_t length = std::strftime(day.data(), day.size(), "%Y-%m-%dT%H:%M:%S", &parts);
  std::array<char, 8> rest{};
  std::snprintf(rest.data(), rest.size(), ".%03dZ", static_cast<int>(milliseconds));
  return std::string(day.data(), length) + rest.data();
}

}  // namespace steelyard::io
