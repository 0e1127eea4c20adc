// ReceiveBlocks: the few large buffers that all streams of a reactor receive into (epoll).
//
// One block is current. `space` shows where the next receive goes, `lend` makes a Buf of what
// arrived. While Bufs pin the current block, its tail is used; when the tail is short, another
// block becomes current, and a block whose last Buf went returns to the pool. When more than
// `limit` bytes of blocks are pinned, what arrives is copied into slabs instead: slow readers then
// pin what they hold, not whole blocks. The object must outlive its Bufs. One thread.
#pragma once

#include <cstddef>
#include <span>

#include "steelyard/base/buf.h"
#include "steelyard/base/surplus.h"
#include "steelyard/io/slab.h"

namespace steelyard::io {

class ReceiveBlocks {
 public:
  ReceiveBlocks(std::size_t block, std::size_t limit, SlabPool& slabs);
  ReceiveBlocks(const ReceiveBlocks&) = delete;
  ReceiveBlocks& operator=(const ReceiveBlocks&) = delete;
  ~ReceiveBlocks();

  // Where to receive, at most `most` bytes; valid until the next call.
  [[nodiscard]] std::span<std::byte> space(std::size_t most);
  // The first `filled` bytes of the last space.
  [[nodiscard]] base::Buf lend(std::size_t filled);
  // Bytes of blocks that Bufs pin.
  [[nodiscard]] std::size_t pinned() const noexcept;
  // `second`: one has passed since the last time. Frees a block that no load of the last minute
  // needed (base/surplus.h); the bytes.
  std::size_t trim(bool second) noexcept;

 private:
  struct Block : base::Storage {
    ReceiveBlocks* owner = nullptr;
    Block* next = nullptr;
    std::byte* bytes = nullptr;
  };
  static constexpr std::size_t kShortTail = std::size_t{32} << 10;  // guess: two 16 KiB bodies
  static constexpr std::size_t kKeep = 16;                          // free blocks kept

  static void released(base::Storage* storage) noexcept;
  [[nodiscard]] Block* make();
  static void destroy(Block* block) noexcept;
  void next_block();

  std::size_t block_size_;
  std::size_t limit_;
  SlabPool& slabs_;
  Block* current_ = nullptr;
  std::size_t used_ = 0;  // of the current block
  Block* free_ = nullptr;
  std::size_t kept_ = 0;
  base::Surplus surplus_;
  std::size_t set_aside_ = 0;  // pinned blocks that are not current
};

}  // namespace steelyard::io
