// Handling many events in a row while the memory that later ones need is on its way: with hundreds
// of connections their state is not in the cache, and each one's is behind another's pointer.
#pragma once

#include <cstddef>

#include "steelyard/base/prefetch.h"
#include "steelyard/io/reactor.h"

namespace steelyard::io {

// Calls `handle(i)` for 0 … count - 1 in order. `slot_of(i)` gives the stream's slot, or nothing;
// it is asked before, and the slot may have lost its `events` meanwhile. For each item, first its
// slot is asked for, then the object behind `events`, then whatever that names in on_soon.
template <typename SlotOf, typename Handle>
void handle_looking_ahead(unsigned count, SlotOf slot_of, Handle handle) {
  constexpr unsigned kSteps = StreamEvents::kSoonSteps;
  constexpr unsigned kDistance = kSteps + 2;
  constexpr unsigned kWorth = 4;        // a guess: so few are in the cache
  constexpr std::size_t kObject = 320;  // bytes of what listens to a stream
  const auto look = [&](unsigned newest) {
    if (newest < count) base::prefetch(slot_of(newest));
    for (unsigned behind = 1; behind < kDistance && behind <= newest; ++behind) {
      if (newest - behind >= count) continue;
      const auto* const slot = slot_of(newest - behind);
      if (slot == nullptr || slot->events == nullptr) continue;
      if (behind == 1) {
        base::prefetch<kObject>(slot->events);
      } else {
        slot->events->on_soon(kDistance - 1 - behind);
      }
    }
  };
  const bool worth = count >= kWorth;
  for (unsigned i = 0; worth && i < kDistance; ++i) look(i);
  for (unsigned i = 0; i < count; ++i) {
    if (worth) look(i + kDistance);
    handle(i);
  }
}

}  // namespace steelyard::io
