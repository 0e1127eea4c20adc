#include "steelyard/io/handle_pool.h"

#include <cassert>

#include "steelyard/io/poison.h"

namespace steelyard::io {

HandlePool::~HandlePool() {
  assert(in_use_ == 0 && "handles must be destroyed before their reactor");
  for (auto& chunk : chunks_) unpoison(chunk.get(), sizeof(Cell) * kChunk);
}

void* HandlePool::take(std::size_t size) {
  assert(size <= kObject);
  (void)size;
  if (free_ == nullptr) grow();
  Cell* const cell = free_;
  free_ = cell->next;
  ++in_use_;
  unpoison(cell->object, kObject);
  return cell->object;
}

void HandlePool::give(void* object) noexcept {
  Cell* const cell =
      reinterpret_cast<Cell*>(static_cast<std::byte*>(object) - offsetof(Cell, object));
  HandlePool& pool = *cell->pool;
  poison(cell->object, kObject);
  cell->next = pool.free_;
  pool.free_ = cell;
  --pool.in_use_;
}

void HandlePool::grow() {
  chunks_.push_back(std::make_unique<Cell[]>(kChunk));
  Cell* const cells = chunks_.back().get();
  for (std::size_t i = kChunk; i-- > 0;) {
    cells[i].pool = this;
    cells[i].next = free_;
    free_ = &cells[i];
    poison(cells[i].object, kObject);
  }
}

}  // namespace steelyard::io
