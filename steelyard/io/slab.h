// SlabPool: counted storage in size classes, recycled, for heads and small copies (Reactor::slab).
//
// Classes are powers of two from 512 bytes to 256 KiB, header included; larger requests get storage
// of their own that is freed at once. Freed storage stays in its class up to kKeepBytes; `trim`
// frees what no load of the last minute needed (base/surplus.h). The pool must outlive its Bufs.
// One thread.
#pragma once

#include <array>
#include <cstddef>

#include "steelyard/base/buf.h"
#include "steelyard/base/surplus.h"
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
  // `second`: one has passed since the last time. Frees up to kMostTrimmed blocks of each class;
  // the bytes.
  std::size_t trim(bool second) noexcept;

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
  static constexpr std::size_t kFewestBytes = std::size_t{16} << 10;  // kept in any case; a guess
  static constexpr std::size_t kMostTrimmed = 32;

  static void released(base::Storage* storage) noexcept;
  static void free_block(Block* block) noexcept;

  struct Class {
    Block* free = nullptr;
    std::size_t kept = 0;
    base::Surplus surplus;
  };
  std::array<Class, kClasses> classes_{};
  std::size_t bytes_out_ = 0;
};

}  // namespace steelyard::io
