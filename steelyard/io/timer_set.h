// TimerSet: the Timer handles of a reactor, and the one heap that also keeps its own deadlines.
//
// A back end embeds TimerNodes of its own (connect time-outs, retries) with a `kind` above zero and
// `owner`, `generation` naming their slot; kind 0 belongs to the handles made here. A handle lives
// in its slot, poisoned under ASan while there is none. Outlives its handles. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "steelyard/io/reactor.h"
#include "steelyard/io/slot_table.h"
#include "steelyard/io/timer_heap.h"

namespace steelyard::io {

class TimerSet {
 public:
  static constexpr std::uint8_t kHandle = 0;

  TimerSet() = default;
  TimerSet(const TimerSet&) = delete;
  TimerSet& operator=(const TimerSet&) = delete;

  [[nodiscard]] std::unique_ptr<Timer> make(TimerEvents& events);
  [[nodiscard]] TimerHeap& heap() noexcept { return heap_; }
  [[nodiscard]] TimePoint next() const noexcept { return heap_.next(); }
  [[nodiscard]] std::size_t in_use() const noexcept { return slots_.in_use(); }
  // As of SlotTable.
  std::size_t trim(bool second) noexcept { return slots_.trim(second) + heap_.trim(second); }

  // Fires what is due at `now`, earliest first; calls `own(node's kind, owner, generation)` for the
  // back end's nodes, and `after()` after each. All due ones are taken first: a callback that arms
  // a timer for now fires in the next turn, not in this one for ever.
  template <typename Own, typename After>
  void run(TimePoint now, Own own, After after) {
    collect(now);
    for (const Due& due : due_) {
      if (due.kind != kHandle) {
        own(due.kind, due.owner, due.generation);
      } else {
        Slot* const slot = slots_.find(due.owner, due.generation);
        if (slot == nullptr || !std::exchange(slot->firing, false)) continue;
        slot->events->on_time();
      }
      after();
    }
    due_.clear();
  }

 private:
  struct Slot {
    std::uint32_t index = 0;
    std::uint32_t generation = 0;
    TimerEvents* events = nullptr;
    TimerNode node;
    bool firing = false;
    alignas(void*) std::byte handle[3 * sizeof(void*)];
  };
  struct Due {
    std::uint32_t owner;
    std::uint32_t generation;
    std::uint8_t kind;
  };
  class Handle;

  void collect(TimePoint now);

  SlotTable<Slot> slots_;
  TimerHeap heap_;
  std::vector<Due> due_;
};

}  // namespace steelyard::io
