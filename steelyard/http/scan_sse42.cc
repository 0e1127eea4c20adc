// The bits of 64 bytes, 16 a step.

#ifdef __x86_64__

#include <cstring>
#include <immintrin.h>

#include "steelyard/http/scan_kernels.h"

namespace steelyard::http::scan_simd {
namespace {

[[gnu::target("sse4.2")]] inline __m128i load(const void* at) noexcept {
  return _mm_loadu_si128(static_cast<const __m128i*>(at));
}

[[gnu::target("sse4.2")]] inline std::uint64_t bits(__m128i v) noexcept {
  return static_cast<std::uint32_t>(_mm_movemask_epi8(v));
}

[[gnu::target("sse4.2")]] inline std::uint64_t no_token(__m128i v) noexcept {
  const __m128i high = _mm_and_si128(_mm_srli_epi16(v, 4), _mm_set1_epi8(15));
  const __m128i hit = _mm_and_si128(_mm_shuffle_epi8(load(kTokenLow.data()), v),
                                    _mm_shuffle_epi8(load(kHighBit.data()), high));
  return bits(_mm_cmpeq_epi8(hit, _mm_setzero_si128()));
}

[[gnu::target("sse4.2")]] inline std::uint64_t no_value(__m128i v) noexcept {
  const __m128i control = _mm_cmpeq_epi8(_mm_min_epu8(v, _mm_set1_epi8(0x1f)), v);
  const __m128i bad = _mm_andnot_si128(_mm_cmpeq_epi8(v, _mm_set1_epi8('\t')), control);
  return bits(_mm_or_si128(bad, _mm_cmpeq_epi8(v, _mm_set1_epi8(0x7f))));
}

[[gnu::target("sse4.2")]] inline std::uint64_t no_target(__m128i v) noexcept {
  const __m128i low = _mm_cmpeq_epi8(_mm_min_epu8(v, _mm_set1_epi8(0x20)), v);
  const __m128i others =
      _mm_or_si128(_mm_cmpeq_epi8(v, _mm_set1_epi8(0x7f)), _mm_cmpeq_epi8(v, _mm_set1_epi8('#')));
  return bits(_mm_or_si128(low, others));
}

[[gnu::target("sse4.2")]] inline void add(__m128i v, unsigned at, Marks& out) noexcept {
  out.no_token |= no_token(v) << at;
  out.no_value |= no_value(v) << at;
  out.no_target |= no_target(v) << at;
  out.look_alike |= bits(_mm_cmpeq_epi8(v, _mm_set1_epi8('_'))) << at;
}

[[gnu::target("sse4.2")]] void block(const char* at, std::size_t size, Marks& out) noexcept {
  // A zero is neither: what is behind the end stops each search.
  alignas(16) char last[ScanKernels::kBlock];
  if (size < sizeof last) {
    std::memset(last, 0, sizeof last);
    std::memcpy(last, at, size);
    at = last;
  }
  out = {};
  for (unsigned i = 0; i < sizeof last; i += 16) add(load(at + i), i, out);
}

constexpr ScanKernels kSse42{"sse42", &block};

}  // namespace

const ScanKernels& sse42() noexcept { return kSse42; }

}  // namespace steelyard::http::scan_simd

#endif
