#include "steelyard/io/receive_blocks.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <new>
#include <utility>

namespace steelyard::io {

ReceiveBlocks::ReceiveBlocks(std::size_t block, std::size_t limit, SlabPool& slabs)
    : block_size_(std::max(block, 2 * kShortTail)),
      limit_(limit),
      slabs_(slabs),
      current_(make()) {}

ReceiveBlocks::~ReceiveBlocks() {
  assert(current_->count == 0 && set_aside_ == 0 && "Bufs of a reactor must die before it");
  destroy(current_);
  while (free_ != nullptr) destroy(std::exchange(free_, free_->next));
}

std::span<std::byte> ReceiveBlocks::space(std::size_t most) {
  if (current_->count == 0) {
    used_ = 0;
  } else if (block_size_ - used_ < std::min(most, kShortTail)) {
    next_block();
  }
  return {current_->bytes + used_, std::min(most, block_size_ - used_)};
}

base::Buf ReceiveBlocks::lend(std::size_t filled) {
  if (set_aside_ * block_size_ >= limit_) {
    Slab copy = slabs_.take(filled);
    std::memcpy(copy.data(), current_->bytes + used_, filled);
    return std::move(copy).take(filled);
  }
  base::Buf out(current_, current_->bytes + used_, filled);
  used_ += filled;
  return out;
}

std::size_t ReceiveBlocks::pinned() const noexcept {
  return (set_aside_ + (current_->count > 0 ? 1 : 0)) * block_size_;
}

void ReceiveBlocks::next_block() {
  ++set_aside_;
  if (free_ != nullptr) {
    current_ = std::exchange(free_, free_->next);
    --kept_;
  } else {
    current_ = make();
  }
  surplus_.taken(kept_);
  used_ = 0;
}

std::size_t ReceiveBlocks::trim(bool second) noexcept {
  if (second) surplus_.look(kept_);
  if (surplus_.count() == 0) return 0;
  destroy(std::exchange(free_, free_->next));
  --kept_;
  surplus_.gone(1);
  return block_size_;
}

void ReceiveBlocks::released(base::Storage* storage) noexcept {
  auto* const block = static_cast<Block*>(storage);
  ReceiveBlocks& owner = *block->owner;
  if (block == owner.current_) return;  // space() starts it anew
  --owner.set_aside_;
  if (owner.kept_ == kKeep) {
    destroy(block);
    return;
  }
  block->next = owner.free_;
  owner.free_ = block;
  ++owner.kept_;
}

ReceiveBlocks::Block* ReceiveBlocks::make() {
  auto* const block = new (::operator new(sizeof(Block) + block_size_)) Block;
  block->release = &released;
  block->owner = this;
  block->bytes = reinterpret_cast<std::byte*>(block + 1);
  return block;
}

void ReceiveBlocks::destroy(Block* block) noexcept {
  block->~Block();
  ::operator delete(block);
}

}  // namespace steelyard::io
