#include "test/pick/allocations.h"

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace {
std::atomic<std::uint64_t> count{0};

void* counted(std::size_t size, std::size_t align) noexcept {
  count.fetch_add(1, std::memory_order_relaxed);
  const std::size_t rounded = (size + align - 1) / align * align;
  return align <= alignof(std::max_align_t) ? std::malloc(size == 0 ? 1 : size)
                                            : std::aligned_alloc(align, rounded);
}
}  // namespace

namespace steelyard::test {
std::uint64_t allocations() noexcept { return count.load(std::memory_order_relaxed); }
}  // namespace steelyard::test

// The array and nothrow forms of the library end in these.
void* operator new(std::size_t size) {
  void* const at = counted(size, 1);
  if (at == nullptr) std::abort();
  return at;
}
void* operator new(std::size_t size, std::align_val_t align) {
  void* const at = counted(size, static_cast<std::size_t>(align));
  if (at == nullptr) std::abort();
  return at;
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {  // std::stable_sort
  return counted(size, 1);
}
void operator delete(void* at) noexcept { std::free(at); }
void operator delete(void* at, std::size_t) noexcept { std::free(at); }
void operator delete(void* at, std::align_val_t) noexcept { std::free(at); }
void operator delete(void* at, std::size_t, std::align_val_t) noexcept { std::free(at); }
