// UringBuffers: the few large buffers that the kernel receives into, shared by all streams of a
// reactor (a provided buffer ring).
//
// The kernel takes a buffer when bytes are there; `lend` makes a Buf of it, and the last Buf gives
// it back. A Buf that would take the lent ones above half, or its stream's above two, is a copy in
// a slab instead, so that slow readers leave buffers for the others.
//
// The kernel takes them in turn, so whatever it has is soon all touched, and stays in memory. So it
// has few, those used last, and the others lie aside. Of each 1,024 receives it is counted how many
// found none: more than one in 64 double what it has, and none, with a quarter of it in use, halve
// it. Memory of those that lay aside for 16 such times is given back. The fewest there are are
// touched at the start, so that memory does not seem to grow. The object must outlive its Bufs. One
// thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "steelyard/base/buf.h"
#include "steelyard/base/result.h"
#include "steelyard/io/slab.h"
#include "steelyard/io/uring_ring.h"

namespace steelyard::io {

class UringBuffers {
 public:
  static constexpr std::uint8_t kMostOfOne = 2;  // that one stream pins

  UringBuffers(unsigned count, std::size_t size, SlabPool& slabs);
  UringBuffers(const UringBuffers&) = delete;
  UringBuffers& operator=(const UringBuffers&) = delete;
  ~UringBuffers();

  base::Result<void> attach(UringRing& ring);

  // Before each wait: the kernel has buffers for what may come.
  void refill() noexcept;
  void missed() noexcept { ++missed_; }  // a receive found none

  // What arrived in buffer `id`. `pins` counts the buffers of one stream; `owner` points at it
  // until the buffer is back, or until `forget`.
  [[nodiscard]] base::Buf lend(std::uint16_t id, std::size_t filled, std::uint8_t& pins);
  // A stream that pins buffers is gone.
  void forget(const std::uint8_t& pins) noexcept;
  void unneeded(std::uint16_t id) noexcept;  // … and nothing of it is wanted

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::size_t pinned() const noexcept { return lent_ * size_; }
  [[nodiscard]] std::uint64_t copies() const noexcept { return copies_; }

 private:
  struct Buffer : base::Storage {
    UringBuffers* owner = nullptr;
    std::uint8_t* pins = nullptr;
    std::uint16_t id = 0;
    bool touched = false;
  };
  static void released(base::Storage* storage) noexcept;
  static constexpr unsigned kFewest = 16;  // a guess: what a quiet worker needs
  static constexpr unsigned kWindow = 1024;
  static constexpr unsigned kPeriod = 16;  // windows
  void adapt() noexcept;
  void shrink() noexcept;
  void give(std::uint16_t id) noexcept;  // to the kernel
  void lay_aside(std::uint16_t id) noexcept;
  [[nodiscard]] std::byte* bytes(std::uint16_t id) noexcept { return memory_ + id * size_; }

  unsigned count_;
  std::size_t size_;
  SlabPool& slabs_;
  std::byte* memory_ = nullptr;  // the buffers, behind them the ring
  io_uring_buf* ring_ = nullptr;
  std::uint16_t tail_ = 0;
  unsigned level_;      // that the kernel has after a refill, where there are so many
  unsigned there_ = 0;  // that it has now
  // In this window: receives with a buffer and without, and the most of one wait.
  unsigned taken_ = 0;
  unsigned missed_ = 0;
  unsigned most_ = 0;
  std::size_t idle_ = 0;              // of `aside_`: the first that were not needed in this period
  unsigned windows_ = 0;              // of it
  std::vector<std::uint16_t> aside_;  // the one used last at the end
  unsigned lent_ = 0;
  std::uint64_t copies_ = 0;
  std::unique_ptr<Buffer[]> buffers_;
};

}  // namespace steelyard::io
