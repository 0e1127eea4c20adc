#include "steelyard/io/slab.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <new>
#include <utility>

#include "steelyard/io/poison.h"

namespace steelyard::io {

SlabPool::~SlabPool() {
  assert(bytes_out_ == 0 && "Bufs of a reactor must die before it");
  for (Class& kind : classes_) {
    while (kind.free != nullptr) {
      Block* const block = kind.free;
      kind.free = block->next;
      free_block(block);
    }
  }
}

Slab SlabPool::take(std::size_t bytes) {
  const std::size_t whole = bytes + sizeof(Block);
  const auto power = static_cast<std::size_t>(std::bit_width(whole - 1));
  const std::size_t size_class = power <= kSmallest ? 0 : power - kSmallest;
  Block* block = nullptr;
  if (size_class < kClasses && classes_[size_class].free != nullptr) {
    Class& kind = classes_[size_class];
    block = kind.free;
    kind.free = block->next;
    kind.surplus.taken(--kind.kept);
    unpoison(block + 1, block->room);
  } else {
    const std::size_t size =
        size_class < kClasses ? std::size_t{1} << (kSmallest + size_class) : whole;
    block = new (::operator new(size)) Block;
    block->release = &released;
    block->pool = this;
    block->room = size - sizeof(Block);
    block->size_class = size_class;
    if (size_class < kClasses) classes_[size_class].surplus.taken(0);
  }
  bytes_out_ += block->room;
  return Slab(block, reinterpret_cast<std::byte*>(block + 1), block->room);
}

void SlabPool::released(base::Storage* storage) noexcept {
  auto* const block = static_cast<Block*>(storage);
  SlabPool& pool = *block->pool;
  pool.bytes_out_ -= block->room;
  if (block->size_class < kClasses) {
    Class& kind = pool.classes_[block->size_class];
    if (kind.kept < kKeepBytes >> (kSmallest + block->size_class)) {
      ++kind.kept;
      block->next = kind.free;
      kind.free = block;
      poison(block + 1, block->room);
      return;
    }
  }
  free_block(block);
}

std::size_t SlabPool::trim(bool second) noexcept {
  std::size_t freed = 0;
  for (std::size_t i = 0; i < kClasses; ++i) {
    Class& kind = classes_[i];
    if (second) kind.surplus.look(kind.kept);
    const std::size_t above = kind.kept - std::min(kFewestBytes >> (kSmallest + i), kind.kept);
    const std::size_t going = std::min({kind.surplus.count(), above, kMostTrimmed});
    for (std::size_t n = 0; n < going; ++n) free_block(std::exchange(kind.free, kind.free->next));
    kind.kept -= going;
    kind.surplus.gone(going);
    freed += going << (kSmallest + i);
  }
  return freed;
}

void SlabPool::free_block(Block* block) noexcept {
  unpoison(block + 1, block->room);
  block->~Block();
  ::operator delete(block);
}

}  // namespace steelyard::io
