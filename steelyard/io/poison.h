// Marks memory as out of bounds under AddressSanitizer; nothing without it.
#pragma once

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

namespace steelyard::io {

inline void poison([[maybe_unused]] const void* at, [[maybe_unused]] std::size_t size) noexcept {
#if defined(__SANITIZE_ADDRESS__)
  __asan_poison_memory_region(at, size);
#endif
}

inline void unpoison([[maybe_unused]] const void* at, [[maybe_unused]] std::size_t size) noexcept {
#if defined(__SANITIZE_ADDRESS__)
  __asan_unpoison_memory_region(at, size);
#endif
}

}  // namespace steelyard::io
