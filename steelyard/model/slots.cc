#include "steelyard/model/slots.h"

#include <cassert>

namespace steelyard::model {

Slots::Slots(std::uint32_t capacity, std::uint32_t workers) : slots_(capacity), workers_(workers) {}
Slots::~Slots() = default;

std::optional<NodeRef> Slots::claim() {
  std::uint32_t at = 0;
  if (!free_.empty()) {
    at = free_.back();
    free_.pop_back();
  } else if (next_ < capacity()) {
    at = next_++;
    slots_[at] = std::make_unique<Slot>(workers_);
  } else {
    return std::nullopt;
  }
  Slot& slot = *slots_[at];
  assert(!slot.used);
  slot.used = true;
  slot.line.max_in_flight.store(0, std::memory_order_relaxed);
  slot.line.limit_parts.store(0, std::memory_order_relaxed);
  const auto generation = slot.line.generation.load(std::memory_order_relaxed) + 1;
  slot.line.generation.store(generation, std::memory_order_release);
  return NodeRef{at, generation};
}

void Slots::release(NodeRef ref) {
  Slot& slot = *slots_[ref.slot];
  assert(slot.used && current(ref) && slot.line.in_flight.load() == 0);
  slot.used = false;
  // The generation moves now, so that a late event fails even before the slot is claimed again.
  slot.line.generation.store(ref.generation + 1, std::memory_order_release);
  free_.push_back(ref.slot);
}

}  // namespace steelyard::model
