// SlotTable<T>: records that never move, named by {index, generation}, so that a late event never
// reaches a new owner.
//
// T has members `std::uint32_t index` and `std::uint32_t generation`, kept by the table; everything
// else is the owner's to set at take and to clear at give. The free one with the lowest index is
// taken first, so that few are spread over few chunks: `trim` frees chunks that are empty and that
// no load of the last minute needed (base/surplus.h). A name outlives its chunk: it finds nothing,
// also when there is another chunk in the place. Cost: O(1), no allocation after warm-up; a word
// more for each 4,096 slots. One thread.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>
#include <vector>

#include "steelyard/base/surplus.h"

namespace steelyard::io {

template <typename T>
class SlotTable {
 public:
  static constexpr std::uint32_t kChunk = 64;

  [[nodiscard]] T& take() {
    std::size_t word = 0;
    while (word < open_.size() && open_[word] == 0) ++word;
    if (word == open_.size()) word = grow() / kChunk;
    const auto place = word * kChunk + static_cast<unsigned>(std::countr_zero(open_[word]));
    Chunk& chunk = chunks_[place];
    T& slot = chunk.slots[static_cast<unsigned>(std::countr_zero(chunk.free))];
    chunk.free &= chunk.free - 1;
    if (chunk.free == 0) open_[word] &= open_[word] - 1;
    ++in_use_;
    surplus_.taken(size_ - in_use_);
    return slot;
  }
  void give(T& slot) noexcept {
    ++slot.generation;
    const std::size_t place = slot.index / kChunk;
    chunks_[place].free |= bit(slot.index);
    open_[place / kChunk] |= bit(place);
    --in_use_;
  }
  // The slot if it still belongs to this generation.
  [[nodiscard]] T* find(std::uint32_t index, std::uint32_t generation) noexcept {
    T* const slot = peek(index);
    return slot != nullptr && slot->generation == generation ? slot : nullptr;
  }
  // The slot, whosever it is now; nothing where there is none.
  [[nodiscard]] T* peek(std::uint32_t index) noexcept {
    if (index >= chunks_.size() * kChunk) return nullptr;
    T* const slots = chunks_[index / kChunk].slots.get();
    return slots == nullptr ? nullptr : slots + index % kChunk;
  }
  // Of one that is in use.
  [[nodiscard]] T& at(std::uint32_t index) noexcept {
    return chunks_[index / kChunk].slots[index % kChunk];
  }
  [[nodiscard]] std::size_t in_use() const noexcept { return in_use_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  // Not while a slot is in hand. `second`: one has passed since the last time. Frees a chunk, but
  // never the first; the bytes.
  std::size_t trim(bool second) noexcept {
    if (second) surplus_.look(size_ - in_use_);
    if (surplus_.count() < kChunk) return 0;
    for (std::size_t place = chunks_.size(); place-- > 1;) {
      if (chunks_[place].slots == nullptr || chunks_[place].free != kAll) continue;
      drop(place);
      surplus_.gone(kChunk);
      return sizeof(T) * kChunk;
    }
    return 0;
  }

 private:
  static constexpr std::uint64_t kAll = ~std::uint64_t{0};
  static_assert(kChunk == 64, "a bit for each slot");
  struct Chunk {
    std::unique_ptr<T[]> slots;
    std::uint64_t free = 0;        // a bit for each slot
    std::uint32_t generation = 1;  // that the slots of the next one here begin with
  };

  [[nodiscard]] static constexpr std::uint64_t bit(std::size_t place) noexcept {
    return std::uint64_t{1} << (place % kChunk);
  }
  std::size_t grow() {
    std::size_t place = 0;
    while (place < chunks_.size() && chunks_[place].slots != nullptr) ++place;
    if (place == chunks_.size()) chunks_.emplace_back();
    open_.resize((chunks_.size() + kChunk - 1) / kChunk);
    Chunk& chunk = chunks_[place];
    chunk.slots = std::make_unique<T[]>(kChunk);
    chunk.free = kAll;
    open_[place / kChunk] |= bit(place);
    for (std::uint32_t i = 0; i < kChunk; ++i) {
      chunk.slots[i].index = static_cast<std::uint32_t>(place) * kChunk + i;
      chunk.slots[i].generation = chunk.generation;
    }
    size_ += kChunk;
    return place;
  }
  void drop(std::size_t place) noexcept {
    Chunk& chunk = chunks_[place];
    for (std::uint32_t i = 0; i < kChunk; ++i) {
      chunk.generation = std::max(chunk.generation, chunk.slots[i].generation);
    }
    chunk.slots.reset();
    chunk.free = 0;
    open_[place / kChunk] &= ~bit(place);
    size_ -= kChunk;
  }

  std::vector<Chunk> chunks_;
  std::vector<std::uint64_t> open_;  // a bit for each chunk that has a free slot
  std::size_t size_ = 0;
  std::size_t in_use_ = 0;
  base::Surplus surplus_;
};

}  // namespace steelyard::io
