// The inner loop of the head scan: what 64 bytes are, as bits. In three kinds: plain C++, SSE4.2
// and AVX2.
//
// All kinds give the same for every input: the plain one is what the others are tested against, and
// what runs where the processor has nothing better. None reads outside [at, at + size).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "steelyard/http/chars.h"

namespace steelyard::http {

// Bit i is about byte i. Behind the last byte all three `no_` bits are set: a search stops there.
struct Marks {
  std::uint64_t no_token = 0;    // may not stand in a name
  std::uint64_t no_value = 0;    // … in a value: CR, LF, other control bytes
  std::uint64_t no_target = 0;   // … in a request's target
  std::uint64_t look_alike = 0;  // is `_`
};

struct ScanKernels {
  static constexpr std::size_t kBlock = 64;

  std::string_view name;
  void (*block)(const char* at, std::size_t size, Marks& out) noexcept;  // 1 … kBlock bytes
};

[[nodiscard]] const ScanKernels& plain_kernels() noexcept;
// The best one of this processor, chosen once.
[[nodiscard]] const ScanKernels& scan_kernels() noexcept;
// Every kind that this processor can run, the plain one first; for tests and benchmarks.
[[nodiscard]] std::span<const ScanKernels* const> all_scan_kernels() noexcept;

namespace scan_simd {

const ScanKernels& sse42() noexcept;
const ScanKernels& avx2() noexcept;

// Tokens by nibbles: byte (h << 4 | l) is one when bit h of kTokenLow[l] is set.
inline constexpr std::array<std::uint8_t, 16> kTokenLow = [] {
  std::array<std::uint8_t, 16> table{};
  for (unsigned c = 0; c < 128; ++c) {
    if ((kCharTable[c] & kToken) == 0) continue;
    table[c & 15] = static_cast<std::uint8_t>(table[c & 15] | 1U << (c >> 4));
  }
  return table;
}();
inline constexpr std::array<std::uint8_t, 16> kHighBit{1, 2, 4, 8, 16, 32, 64, 128};

}  // namespace scan_simd
}  // namespace steelyard::http
