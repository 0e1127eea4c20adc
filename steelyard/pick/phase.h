// Phase: where a rotation begins. Each worker's cursor has its own, so that workers are out of
// step.
//
// A rotation can begin long after its cursor was made (the first nodes come by discovery), where no
// generator is at hand, so the cursor keeps a seed. `next` gives another number each time; seed 0
// gives 0 for ever: the classic start, for tests and for whoever wants the textbook sequence.
#pragma once

#include <cstdint>

namespace steelyard::pick {

class Phase {
 public:
  explicit constexpr Phase(std::uint64_t seed) noexcept : state_(seed) {}

  // splitmix64's finaliser (Steele, Lea, Flood 2014): a bijection that maps 0 to 0.
  constexpr std::uint64_t next() noexcept {
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return state_ = z ^ (z >> 31);
  }
  // In [0, n).
  constexpr std::uint64_t below(std::uint64_t n) noexcept {
    __extension__ using u128 = unsigned __int128;
    return static_cast<std::uint64_t>((static_cast<u128>(next()) * n) >> 64);
  }
  [[nodiscard]] constexpr bool zero() const noexcept { return state_ == 0; }

 private:
  std::uint64_t state_;
};

}  // namespace steelyard::pick
