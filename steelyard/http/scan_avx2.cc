// The bits of 64 bytes, 32 a step.

#ifdef __x86_64__

#include <cstring>
#include <immintrin.h>

#include "steelyard/http/scan_kernels.h"

namespace steelyard::http::scan_simd {
namespace {

[[gnu::target("avx2")]] inline __m256i load(const void* at) noexcept {
  return _mm256_loadu_si256(static_cast<const __m256i*>(at));
}

[[gnu::target("avx2")]] inline __m256i table(const void* at) noexcept {  // 16 bytes, twice
  return _mm256_broadcastsi128_si256(_mm_loadu_si128(static_cast<const __m128i*>(at)));
}

[[gnu::target("avx2")]] inline std::uint64_t bits(__m256i v) noexcept {
  return static_cast<std::uint32_t>(_mm256_movemask_epi8(v));
}

[[gnu::target("avx2")]] inline std::uint64_t no_token(__m256i v) noexcept {
  const __m256i high = _mm256_and_si256(_mm256_srli_epi16(v, 4), _mm256_set1_epi8(15));
  const __m256i hit = _mm256_and_si256(_mm256_shuffle_epi8(table(kTokenLow.data()), v),
                                       _mm256_shuffle_epi8(table(kHighBit.data()), high));
  return bits(_mm256_cmpeq_epi8(hit, _mm256_setzero_si256()));
}

[[gnu::target("avx2")]] inline std::uint64_t no_value(__m256i v) noexcept {
  const __m256i control = _mm256_cmpeq_epi8(_mm256_min_epu8(v, _mm256_set1_epi8(0x1f)), v);
  const __m256i bad = _mm256_andnot_si256(_mm256_cmpeq_epi8(v, _mm256_set1_epi8('\t')), control);
  return bits(_mm256_or_si256(bad, _mm256_cmpeq_epi8(v, _mm256_set1_epi8(0x7f))));
}

[[gnu::target("avx2")]] inline std::uint64_t no_target(__m256i v) noexcept {
  const __m256i low = _mm256_cmpeq_epi8(_mm256_min_epu8(v, _mm256_set1_epi8(0x20)), v);
  const __m256i others = _mm256_or_si256(_mm256_cmpeq_epi8(v, _mm256_set1_epi8(0x7f)),
                                         _mm256_cmpeq_epi8(v, _mm256_set1_epi8('#')));
  return bits(_mm256_or_si256(low, others));
}

[[gnu::target("avx2")]] inline void add(__m256i v, unsigned at, Marks& out) noexcept {
  out.no_token |= no_token(v) << at;
  out.no_value |= no_value(v) << at;
  out.no_target |= no_target(v) << at;
  out.look_alike |= bits(_mm256_cmpeq_epi8(v, _mm256_set1_epi8('_'))) << at;
}

[[gnu::target("avx2")]] void block(const char* at, std::size_t size, Marks& out) noexcept {
  // A zero is neither: what is behind the end stops each search.
  alignas(32) char last[ScanKernels::kBlock];
  if (size < sizeof last) {
    std::memset(last, 0, sizeof last);
    std::memcpy(last, at, size);
    at = last;
  }
  out = {};
  for (unsigned i = 0; i < sizeof last; i += 32) add(load(at + i), i, out);
}

constexpr ScanKernels kAvx2{"avx2", &block};

}  // namespace

const ScanKernels& avx2() noexcept { return kAvx2; }

}  // namespace steelyard::http::scan_simd

#endif
