// Which of two nodes is less loaded for its size: (in-flight + 1) / weight, compared without
// division.
//
// The "+ 1" is the request about to be placed: it lets a big node beat a small one when both have
// little to do. Weights are quanta of one Candidates list (below 2^46), in-flight is 32 bits: the
// products need 78 bits and are exact, so a tie is a tie.
#pragma once

#include <compare>
#include <cstdint>

namespace steelyard::pick {

struct Load {
  std::uint32_t in_flight = 0;
  std::int64_t weight = 1;  // quanta, > 0
};

// less: `a` has the lower (in-flight + 1) / weight.
[[nodiscard]] constexpr std::strong_ordering compare(Load a, Load b) noexcept {
  __extension__ using u128 = unsigned __int128;
  const auto left = (static_cast<u128>(a.in_flight) + 1) * static_cast<std::uint64_t>(b.weight);
  const auto right = (static_cast<u128>(b.in_flight) + 1) * static_cast<std::uint64_t>(a.weight);
  if (left == right) return std::strong_ordering::equal;
  return left < right ? std::strong_ordering::less : std::strong_ordering::greater;
}

}  // namespace steelyard::pick
