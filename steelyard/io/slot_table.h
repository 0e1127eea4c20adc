// SlotTable<T>: records that never move, named by {index, generation}, so that a late event never
// reaches a new owner.
//
// T has members `std::uint32_t index` and `std::uint32_t generation`, kept by the table; everything
// else is the owner's to set at take and to clear at give. Cost: O(1), no allocation after warm-up.
// One thread.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace steelyard::io {

template <typename T>
class SlotTable {
 public:
  [[nodiscard]] T& take() {
    if (free_.empty()) grow();
    T& slot = at(free_.back());
    free_.pop_back();
    ++in_use_;
    return slot;
  }
  void give(T& slot) noexcept {
    ++slot.generation;
    free_.push_back(slot.index);  // grow() reserved the room
    --in_use_;
  }
  // The slot if it still belongs to this generation.
  [[nodiscard]] T* find(std::uint32_t index, std::uint32_t generation) noexcept {
    if (index >= chunks_.size() * kChunk) return nullptr;
    T& slot = at(index);
    return slot.generation == generation ? &slot : nullptr;
  }
  [[nodiscard]] T& at(std::uint32_t index) noexcept {
    return chunks_[index / kChunk][index % kChunk];
  }
  [[nodiscard]] std::size_t in_use() const noexcept { return in_use_; }
  [[nodiscard]] std::uint32_t size() const noexcept {
    return static_cast<std::uint32_t>(chunks_.size() * kChunk);
  }

 private:
  static constexpr std::uint32_t kChunk = 128;

  void grow() {
    const std::uint32_t first = size();
    chunks_.push_back(std::make_unique<T[]>(kChunk));
    free_.reserve(chunks_.size() * kChunk);
    for (std::uint32_t i = kChunk; i-- > 0;) {
      at(first + i).index = first + i;
      at(first + i).generation = 1;
      free_.push_back(first + i);
    }
  }

  std::vector<std::unique_ptr<T[]>> chunks_;
  std::vector<std::uint32_t> free_;
  std::size_t in_use_ = 0;
};

}  // namespace steelyard::io
