// ReadyQueue: the streams and listeners of a reactor that have work to do once the running callback
// has returned (R1), and those whose work waits for the next turn.
//
// Kind has kStream and kListener; a slot has `index`, `generation` and `queued`, which is true
// while it stands here. A slot that was given up meanwhile is passed over. Cost: O(1) a slot, no
// allocation after warm-up. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "steelyard/io/slot_table.h"

namespace steelyard::io {

template <typename Kind>
struct SlotRef {  // checked when used
  Kind kind;
  std::uint32_t index;
  std::uint32_t generation;
};

template <typename Kind>
class ReadyQueue {
 public:
  template <typename Slot>
  void soon(Kind kind, Slot& slot) {
    put(ready_, kind, slot);
  }
  template <typename Slot>
  void next_turn(Kind kind, Slot& slot) {
    put(later_, kind, slot);
  }
  [[nodiscard]] bool empty() const noexcept { return ready_.empty() && later_.empty(); }
  void begin_turn() {
    ready_.insert(ready_.end(), later_.begin(), later_.end());
    later_.clear();
  }
  // Serves what is ready, and what that makes ready.
  template <typename Stream, typename Listener, typename Service>
  void drain(SlotTable<Stream>& streams, SlotTable<Listener>& listeners, const Service& service) {
    const std::size_t limit = ready_.size() + kDrainLimit;
    std::size_t done = 0;
    const auto serve = [&](auto* slot) {
      if (slot == nullptr) return;
      slot->queued = false;
      service(*slot);
    };
    for (; done < ready_.size() && done < limit; ++done) {
      const Ref ref = ready_[done];
      if (ref.kind == Kind::kStream) {
        serve(streams.find(ref.index, ref.generation));
      } else {
        serve(listeners.find(ref.index, ref.generation));
      }
    }
    ready_.erase(ready_.begin(), ready_.begin() + static_cast<std::ptrdiff_t>(done));
  }

 private:
  using Ref = SlotRef<Kind>;
  // A guess: callbacks that make work for ever must not stop the clock.
  static constexpr std::size_t kDrainLimit = 16384;

  template <typename Slot>
  static void put(std::vector<Ref>& to, Kind kind, Slot& slot) {
    if (slot.queued) return;
    slot.queued = true;
    to.push_back({kind, slot.index, slot.generation});
  }

  std::vector<Ref> ready_;
  std::vector<Ref> later_;
};

}  // namespace steelyard::io
