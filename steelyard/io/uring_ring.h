// UringRing: the kernel's two rings, mapped, and the one call that drives them.
//
// Spoken directly (linux/io_uring.h): it is little, and the library of Debian 12 lacks parts of it.
// The ring is restricted to kOpcodes before its first use. One thread.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <linux/io_uring.h>
#include <memory>

#include "steelyard/base/result.h"
#include "steelyard/io/fd.h"
#include "steelyard/io/reactor.h"
#include "steelyard/io/uring.h"

namespace steelyard::io {

// All that the reactor submits; anything else is refused with EACCES.
inline constexpr std::array<std::uint8_t, 8> kUringOpcodes{
    IORING_OP_RECV,    IORING_OP_SEND,     IORING_OP_SENDMSG, IORING_OP_ACCEPT,
    IORING_OP_CONNECT, IORING_OP_POLL_ADD, IORING_OP_CLOSE,   IORING_OP_ASYNC_CANCEL};
inline constexpr std::uint8_t kUringFlags = IOSQE_BUFFER_SELECT | IOSQE_CQE_SKIP_SUCCESS;
inline constexpr std::uint16_t kUringBufferGroup = 0;

class UringRing {
 public:
  // An Error tells what is missing, as probe_uring does.
  [[nodiscard]] static base::Result<std::unique_ptr<UringRing>> make(const UringOptions& options);
  UringRing(const UringRing&) = delete;
  UringRing& operator=(const UringRing&) = delete;
  ~UringRing();

  // A zeroed entry to fill, submitted with the next enter; a full ring is submitted first.
  [[nodiscard]] io_uring_sqe& entry() {
    if (tail_ - load(sq_head_) >= entries_) make_room();
    io_uring_sqe& out = sqes_[tail_++ & sq_mask_];
    std::memset(&out, 0, sizeof out);
    return out;
  }

  // Submits what was queued and waits until `completions` are there, at most `longest` (zero: not
  // at all; Duration::max(): for ever). Gives 0 or errno.
  int enter(unsigned completions, Duration longest);
  [[nodiscard]] bool all_submitted() const noexcept { return submitted_ == tail_; }

  // Completions did not fit their ring: some wait in the kernel for the next enter.
  [[nodiscard]] bool overflowed() const noexcept {
    return (load(sq_flags_) & IORING_SQ_CQ_OVERFLOW) != 0;
  }

  [[nodiscard]] unsigned completed() const noexcept { return load(cq_tail_) - cq_seen_; }
  // The i-th completion that was not yet let go.
  [[nodiscard]] const io_uring_cqe& completion(unsigned i) const noexcept {
    return cqes_[(cq_seen_ + i) & cq_mask_];
  }
  void let_go(unsigned count) noexcept {
    cq_seen_ += count;
    std::atomic_ref(*cq_head_).store(cq_seen_, std::memory_order_release);
  }
  [[nodiscard]] std::uint64_t enters() const noexcept { return enters_; }
  [[nodiscard]] std::uint64_t submitted() const noexcept { return submitted_total_; }

  // Before the first enter: `ring` holds `count` io_uring_buf, page-aligned.
  base::Result<void> add_buffers(const void* ring, unsigned count);
  // Restricts and enables it; nothing can be registered afterwards.
  base::Result<void> enable();

 private:
  UringRing() = default;
  [[nodiscard]] bool map(const io_uring_params& params);
  void make_room();
  [[nodiscard]] static unsigned load(const unsigned* at) noexcept {
    return std::atomic_ref(*const_cast<unsigned*>(at)).load(std::memory_order_acquire);
  }

  Fd fd_;
  void* rings_ = nullptr;
  std::size_t rings_size_ = 0;
  io_uring_sqe* sqes_ = nullptr;
  unsigned entries_ = 0;
  unsigned sq_mask_ = 0;
  unsigned tail_ = 0;       // what was handed out
  unsigned submitted_ = 0;  // what the kernel has taken
  unsigned* sq_head_ = nullptr;
  unsigned* sq_tail_ = nullptr;
  const unsigned* sq_flags_ = nullptr;
  unsigned* cq_head_ = nullptr;
  unsigned* cq_tail_ = nullptr;
  unsigned cq_mask_ = 0;
  unsigned cq_seen_ = 0;
  const io_uring_cqe* cqes_ = nullptr;
  std::uint64_t enters_ = 0;
  std::uint64_t submitted_total_ = 0;
};

}  // namespace steelyard::io
