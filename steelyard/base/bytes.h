// A size in bytes, as its own type, so that it is never swapped with a count. `10MiB` in the
// configuration.
#pragma once

#include <compare>
#include <cstdint>

namespace steelyard::base {

struct Bytes {
  std::uint64_t count = 0;
  friend auto operator<=>(Bytes, Bytes) = default;
};

[[nodiscard]] constexpr Bytes kib(std::uint64_t n) noexcept { return {n << 10}; }
[[nodiscard]] constexpr Bytes mib(std::uint64_t n) noexcept { return {n << 20}; }

}  // namespace steelyard::base
