// A small fast random generator, handed in as an argument; never a global, never seeded by itself.
//
// xoshiro256** (Blackman, Vigna 2018), seeded through splitmix64 so that any 64-bit seed is a good
// one. Same seed, same numbers, on every platform. Cost: about 1 ns a draw. Threads: one owner. Not
// for secrets.
#pragma once

#include <array>
#include <cstdint>
#include <limits>

namespace steelyard::base {

class Rng {
 public:
  using result_type = std::uint64_t;

  explicit constexpr Rng(std::uint64_t seed) noexcept {
    for (auto& word : state_) {  // splitmix64
      seed += 0x9e3779b97f4a7c15ULL;
      std::uint64_t z = seed;
      z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
      z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
      word = z ^ (z >> 31);
    }
  }

  constexpr std::uint64_t operator()() noexcept {
    const std::uint64_t result = rotl(state_[1] * 5, 7) * 9;
    const std::uint64_t t = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= t;
    state_[3] = rotl(state_[3], 45);
    return result;
  }
  static constexpr std::uint64_t min() noexcept { return 0; }
  static constexpr std::uint64_t max() noexcept {
    return std::numeric_limits<std::uint64_t>::max();
  }

  // Uniform in [0, n), n > 0, without modulo bias to speak of (Lemire's multiply, bias below n /
  // 2^64).
  constexpr std::uint64_t below(std::uint64_t n) noexcept {
    __extension__ using u128 = unsigned __int128;
    return static_cast<std::uint64_t>((static_cast<u128>((*this)()) * n) >> 64);
  }
  // Uniform in [0, 1), 53 bits.
  constexpr double unit() noexcept { return static_cast<double>((*this)() >> 11) * 0x1.0p-53; }

 private:
  static constexpr std::uint64_t rotl(std::uint64_t x, int k) noexcept {
    return (x << k) | (x >> (64 - k));
  }
  std::array<std::uint64_t, 4> state_{};
};

}  // namespace steelyard::base
