// UringBuffers: the few large buffers that the kernel receives into, shared by all streams of a
// reactor (a provided buffer ring).
//
// The kernel takes a buffer when bytes are there; `lend` makes a Buf of it, and the last Buf gives
// it back to the kernel at once. A Buf that would take the lent ones above half, or its stream's
// above two, is a copy in a slab instead, so that slow readers leave buffers for the others. The
// object must outlive its Bufs. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

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

  // What arrived in buffer `id`. `pins` counts the buffers of one stream; `owner` points at it
  // until the buffer is back, or until `forget`.
  [[nodiscard]] base::Buf lend(std::uint16_t id, std::size_t filled, std::uint8_t& pins);
  // A stream that pins buffers is gone.
  void forget(const std::uint8_t& pins) noexcept;
  void give_back(std::uint16_t id) noexcept;  // nothing of it is needed

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::size_t pinned() const noexcept { return lent_ * size_; }
  [[nodiscard]] std::uint64_t copies() const noexcept { return copies_; }

 private:
  struct Buffer : base::Storage {
    UringBuffers* owner = nullptr;
    std::uint8_t* pins = nullptr;
    std::uint16_t id = 0;
  };
  static void released(base::Storage* storage) noexcept;
  [[nodiscard]] std::byte* bytes(std::uint16_t id) noexcept { return memory_ + id * size_; }

  unsigned count_;
  std::size_t size_;
  SlabPool& slabs_;
  std::byte* memory_ = nullptr;  // the buffers, behind them the ring
  io_uring_buf* ring_ = nullptr;
  std::uint16_t tail_ = 0;
  unsigned lent_ = 0;
  std::uint64_t copies_ = 0;
  std::unique_ptr<Buffer[]> buffers_;
};

}  // namespace steelyard::io
