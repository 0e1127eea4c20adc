// Cell<T>: one writer, many readers, no lock and no read-modify-write on the writer's side.
//
// The writer owns the value and may `set` or `add`; any other thread may `read` at any time and
// sees some value that was written, never a torn one. `add` is a plain load and store: two writers
// would lose counts. Group the Cells of one writer in a struct aligned to kCacheLine, so that
// writers do not share lines. Cost: a plain load or store.
#pragma once

#include <atomic>
#include <cstddef>
#include <type_traits>

namespace steelyard::base {

inline constexpr std::size_t kCacheLine = 64;

template <typename T>
  requires std::is_trivially_copyable_v<T> && (sizeof(T) <= 8)
class Cell {
 public:
  Cell() = default;
  explicit Cell(T value) : value_(value) {}
  Cell(const Cell&) = delete;
  Cell& operator=(const Cell&) = delete;

  void set(T value) noexcept { value_.store(value, std::memory_order_release); }
  void add(T by) noexcept {
    value_.store(static_cast<T>(value_.load(std::memory_order_relaxed) + by),
                 std::memory_order_release);
  }
  [[nodiscard]] T read() const noexcept { return value_.load(std::memory_order_acquire); }

 private:
  std::atomic<T> value_{};
};

}  // namespace steelyard::base
