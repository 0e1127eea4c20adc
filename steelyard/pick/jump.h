// Jump hash: a number's place among `count` buckets, without any table.
//
// From n to n + 1 buckets exactly 1/(n + 1) of the numbers move, all to the new one. Only the last
// bucket can be removed without moving others: for shards, not for nodes that fail. Source: Lamping
// and Veach 2014. Cost: O(log count).
#pragma once

#include <cstdint>

namespace steelyard::pick {

// count > 0.
[[nodiscard]] constexpr std::uint32_t jump(std::uint64_t number, std::uint32_t count) noexcept {
  std::int64_t bucket = -1;
  std::int64_t next = 0;
  while (next < static_cast<std::int64_t>(count)) {
    bucket = next;
    number = number * 2862933555777941757ULL + 1;
    next = static_cast<std::int64_t>(static_cast<double>(bucket + 1) *
                                     (0x1p31 / static_cast<double>((number >> 33U) + 1)));
  }
  return static_cast<std::uint32_t>(bucket);
}

}  // namespace steelyard::pick
