// SlabPool: counted storage in size classes, recycled, for heads and small copies (Reactor::slab).
//
// Classes are powers of two from 512 bytes to 256 KiB, header included; larger requests get storage
// of their own that is freed at once. Freed storage stays in its class up to kKeepBytes. The pool
// must outlive its Bufs. One thread.
#pragma once

#include <array>
#include <cstddef>

#include "steelyard/base/buf.h"
#include "steelyard/io/reactor.h"

namespace steelyard::io {

class SlabPool {
 public:
  SlabPool() = default;
  SlabPool(const SlabPool&) = delete;
  SlabPool& operator=(const SlabPool&) = delete;
  ~SlabPool();

  // At least `bytes` writable bytes; the capacity shown is what the class has.
  [[nodiscard]] Slab take(std::size_t bytes);
  [[nodiscard]] std::size_t bytes_out() const noexcept { return bytes_out_; }

 private:
  struct Block : base::Storage {
    SlabPool* pool = nullptr;
    Block* next = nullptr;
    std::size_t room = 0;  // bytes after the header
    std::size_t size_class = 0;
  };
  static constexpr std::size_t kSmallest = 9;  // 2^9
  static constexpr std::size_t kClasses = 10;  // … 2^18
  static constexpr std::size_t kKeepBytes = std::size_t{4} << 20;

  static void released(base::Storage* storage) noexcept;
  static void free_block(Block* block) noexcept;

  struct Class {
    Block* free = nullptr;
    std::size_t kept = 0;
  };
  std::array<Class, kClasses> classes_{};
  std::size_t bytes_out_ = 0;
};

}  // namespace steelyard::io
