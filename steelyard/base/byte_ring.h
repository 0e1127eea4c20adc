// ByteRing: records of bytes from one thread to another, without a lock and without an allocation.
//
// The producer asks for room, fills it and publishes it; a record is always contiguous. When there
// is no room the record is the producer's to drop: it never waits. The consumer sees records in
// order and gives their room back as it goes. Cost: a few loads and stores and what is copied; one
// line of its own for each side. Threads: one producer, one consumer.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>

#include "steelyard/base/cell.h"

namespace steelyard::base {

class ByteRing {
 public:
  // Rounded up to a power of two, at least 1 KiB.
  explicit ByteRing(std::size_t bytes)
      : size_(std::bit_ceil(bytes < 1024 ? std::size_t{1024} : bytes)),
        bytes_(std::make_unique_for_overwrite<std::byte[]>(size_)) {}
  ByteRing(const ByteRing&) = delete;
  ByteRing& operator=(const ByteRing&) = delete;

  [[nodiscard]] std::size_t capacity() const noexcept { return size_; }

  // Producer. Room for one record of `size` bytes; empty when there is none.
  [[nodiscard]] std::span<std::byte> reserve(std::size_t size) noexcept {
    const std::size_t whole = rounded(size);
    const std::size_t at = head_ & (size_ - 1);
    const std::size_t skip = at + whole > size_ ? size_ - at : 0;
    if (head_ + skip + whole - seen_tail_ > size_) {
      seen_tail_ = tail_.load(std::memory_order_acquire);
      if (head_ + skip + whole - seen_tail_ > size_) return {};
    }
    if (skip > 0) {
      put_size(at, kSkip);
      head_ += skip;
    }
    return {bytes_.get() + (head_ & (size_ - 1)) + kPrefix, size};
  }
  // Publishes the first `size` bytes of what was reserved last.
  void commit(std::size_t size) noexcept {
    put_size(head_ & (size_ - 1), static_cast<std::uint32_t>(size));
    head_ += rounded(size);
    published_.store(head_, std::memory_order_release);
  }

  // Consumer. Calls `take` with every record that is there; gives their number.
  template <typename F>
  std::size_t drain(F take) {
    const std::size_t end = published_.load(std::memory_order_acquire);
    std::size_t at = tail_.load(std::memory_order_relaxed);
    std::size_t count = 0;
    while (at != end) {
      const std::size_t place = at & (size_ - 1);
      std::uint32_t size = 0;
      std::memcpy(&size, bytes_.get() + place, sizeof size);
      if (size == kSkip) {
        at += size_ - place;
        continue;
      }
      take(std::span<const std::byte>(bytes_.get() + place + kPrefix, size));
      ++count;
      at += rounded(size);
      tail_.store(at, std::memory_order_release);
    }
    tail_.store(at, std::memory_order_release);
    return count;
  }

 private:
  static constexpr std::size_t kPrefix = 8;            // so that records are aligned
  static constexpr std::uint32_t kSkip = 0xffffffffU;  // the rest up to the end is unused

  static constexpr std::size_t rounded(std::size_t size) noexcept {
    return (size + kPrefix + 7) & ~std::size_t{7};
  }
  void put_size(std::size_t place, std::uint32_t size) noexcept {
    std::memcpy(bytes_.get() + place, &size, sizeof size);
  }

  const std::size_t size_;
  const std::unique_ptr<std::byte[]> bytes_;
  alignas(kCacheLine) std::size_t head_ = 0;  // producer
  std::size_t seen_tail_ = 0;                 // producer
  alignas(kCacheLine) std::atomic<std::size_t> published_{0};
  alignas(kCacheLine) std::atomic<std::size_t> tail_{0};
};

}  // namespace steelyard::base
