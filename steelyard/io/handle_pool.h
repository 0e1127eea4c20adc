// HandlePool: storage for the small handle objects (listeners, watches) behind unique_ptr; what
// there may be thousands of lives in its slot instead.
//
// A handle class derives from Pooled and is made with `new (pool) Handle(...)`; its unique_ptr
// gives the room back. A freed handle goes to a free list and is poisoned under ASan, so that any
// use of a destroyed handle, even through its virtual table, is reported. No allocation after
// warm-up. One thread.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace steelyard::io {

class HandlePool {
 public:
  HandlePool() = default;
  HandlePool(const HandlePool&) = delete;
  HandlePool& operator=(const HandlePool&) = delete;
  ~HandlePool();

  // Room for one object of at most kObject bytes.
  [[nodiscard]] void* take(std::size_t size);
  // Gives the object's room back to the pool it came from.
  static void give(void* object) noexcept;
  [[nodiscard]] std::size_t in_use() const noexcept { return in_use_; }

  static constexpr std::size_t kObject = 48;

 private:
  struct alignas(std::max_align_t) Cell {
    HandlePool* pool = nullptr;
    Cell* next = nullptr;
    alignas(std::max_align_t) std::byte object[kObject];
  };
  static constexpr std::size_t kChunk = 128;

  void grow();

  std::vector<std::unique_ptr<Cell[]>> chunks_;
  Cell* free_ = nullptr;
  std::size_t in_use_ = 0;
};

// Base of pooled handles: `std::unique_ptr<Stream>(new (pool) MyStream(...))`.
struct Pooled {
  static void* operator new(std::size_t size, HandlePool& pool) { return pool.take(size); }
  static void operator delete(void* object) noexcept { HandlePool::give(object); }
  static void operator delete(void* object, HandlePool& /*pool*/) noexcept {
    HandlePool::give(object);
  }
};

}  // namespace steelyard::io
