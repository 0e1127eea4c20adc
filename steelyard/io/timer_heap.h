// TimerHeap: deadlines of many timers, cheap to push later.
//
// A 4-ary heap of keys with back references. A timer keeps its wanted deadline beside its place in
// the heap: moving the deadline later, or cancelling, only writes the deadline; the heap learns of
// it when the old key comes due. So re-arming an idle time-out on each request is a store, and
// costs one heap move a period. Moving earlier is O(log n). A node must be removed before it dies.
// One thread.
#pragma once

#include <cstdint>
#include <vector>

#include "steelyard/base/surplus.h"
#include "steelyard/base/time.h"

namespace steelyard::io {

struct TimerNode {
  static constexpr std::uint32_t kNowhere = 0xffffffff;
  static constexpr base::TimePoint kNever = base::TimePoint::max();

  base::TimePoint deadline = kNever;
  std::uint32_t place = kNowhere;  // in the heap
  std::uint32_t owner = 0;         // the heap's user: which slot this is in
  std::uint32_t generation = 0;    // the heap's user: of that slot
  std::uint8_t kind = 0;           // the heap's user: which sort of slot
};

class TimerHeap {
 public:
  void set(TimerNode& node, base::TimePoint deadline);
  void cancel(TimerNode& node) noexcept { node.deadline = TimerNode::kNever; }
  void remove(TimerNode& node) noexcept;  // from the heap, whatever its state
  // `second`: one has passed since the last time. Gives up room that no load of the last minute
  // needed (base/surplus.h); the bytes.
  std::size_t trim(bool second) noexcept;
  // When to wake at the latest; kNever when empty. May be early (a key not yet caught up with its
  // deadline).
  [[nodiscard]] base::TimePoint next() const noexcept {
    return heap_.empty() ? TimerNode::kNever : heap_.front().key;
  }
  // The next timer due at `now`, taken out of the heap; null when none is.
  [[nodiscard]] TimerNode* pop_due(base::TimePoint now) noexcept;
  [[nodiscard]] std::size_t size() const noexcept { return heap_.size(); }

 private:
  struct Entry {
    base::TimePoint key;
    TimerNode* node;
  };
  void put(std::size_t at, Entry entry) noexcept;
  void sift_up(std::size_t at, Entry entry) noexcept;
  void sift_down(std::size_t at, Entry entry) noexcept;

  std::vector<Entry> heap_;
  base::Surplus surplus_;  // of room
};

}  // namespace steelyard::io
