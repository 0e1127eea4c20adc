#include "steelyard/io/memory.h"

#include <cstdlib>
#if defined(__GLIBC__)
#include <malloc.h>
#endif

namespace steelyard::io {

void limit_kept_memory() noexcept {
#if defined(__GLIBC__)
  constexpr int kMost = 1 << 20;
  ::mallopt(M_TRIM_THRESHOLD, kMost);
  ::mallopt(M_MMAP_THRESHOLD, kMost);
#endif
}

void give_back_memory() noexcept {
#if defined(__GLIBC__)
  ::malloc_trim(0);
#endif
}

}  // namespace steelyard::io
