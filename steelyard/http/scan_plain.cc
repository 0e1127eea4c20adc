// The plain kind, and the choice among the kinds.

#include "steelyard/http/scan_kernels.h"

namespace steelyard::http {
namespace {

void block(const char* at, std::size_t size, Marks& out) noexcept {
  const std::uint64_t behind = size < ScanKernels::kBlock ? ~std::uint64_t{0} << size : 0;
  out = {behind, behind, behind, 0};
  for (std::size_t i = 0; i < size; ++i) {
    const std::uint64_t bits = char_bits(at[i]);
    out.no_token |= ((bits / kToken & 1U) ^ 1U) << i;
    out.no_value |= ((bits / kValue & 1U) ^ 1U) << i;
    out.no_target |= ((bits / kTarget & 1U) ^ 1U) << i;
    out.look_alike |= (bits / kLookAlike & 1U) << i;
  }
}

constexpr ScanKernels kPlain{"plain", &block};

struct Kinds {
  std::array<const ScanKernels*, 3> list{&kPlain, nullptr, nullptr};
  std::size_t count = 1;
  Kinds() noexcept {
#ifdef __x86_64__
    __builtin_cpu_init();
    if (__builtin_cpu_supports("sse4.2")) list[count++] = &scan_simd::sse42();
    if (__builtin_cpu_supports("avx2")) list[count++] = &scan_simd::avx2();
#endif
  }
};
const Kinds& kinds() noexcept {
  static const Kinds found;
  return found;
}

}  // namespace

const ScanKernels& plain_kernels() noexcept { return kPlain; }
const ScanKernels& scan_kernels() noexcept { return *kinds().list[kinds().count - 1]; }
std::span<const ScanKernels* const> all_scan_kernels() noexcept {
  return std::span(kinds().list).first(kinds().count);
}

}  // namespace steelyard::http
