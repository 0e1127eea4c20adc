#include "steelyard/io/timer_heap.h"

#include <algorithm>

namespace steelyard::io {

namespace {
constexpr std::size_t kArms = 4;
constexpr std::size_t kKeep = 1024;  // entries: 16 KiB
}  // namespace

void TimerHeap::set(TimerNode& node, base::TimePoint deadline) {
  node.deadline = deadline;
  if (node.place == TimerNode::kNowhere) {
    if (deadline == TimerNode::kNever) return;
    heap_.push_back({deadline, &node});
    surplus_.taken(heap_.capacity() - heap_.size());
    sift_up(heap_.size() - 1, {deadline, &node});
  } else if (deadline < heap_[node.place].key) {
    sift_up(node.place, {deadline, &node});
  }
}

void TimerHeap::remove(TimerNode& node) noexcept {
  node.deadline = TimerNode::kNever;
  const std::size_t at = node.place;
  if (at == TimerNode::kNowhere) return;
  node.place = TimerNode::kNowhere;
  const Entry last = heap_.back();
  heap_.pop_back();
  if (last.node == &node) return;
  if (at > 0 && last.key < heap_[(at - 1) / kArms].key) {
    sift_up(at, last);
  } else {
    sift_down(at, last);
  }
}

// Three quarters of it at a time: what has to be moved is less than what goes.
std::size_t TimerHeap::trim(bool second) noexcept {
  const std::size_t room = heap_.capacity();
  if (second) surplus_.look(room - heap_.size());
  if (room < kKeep || surplus_.count() < room - room / 4) return 0;
  std::vector<Entry> smaller;
  smaller.reserve(room / 4);
  smaller.assign(heap_.begin(), heap_.end());
  heap_.swap(smaller);
  surplus_.gone(room - heap_.capacity());
  return (room - heap_.capacity()) * sizeof(Entry);
}

TimerNode* TimerHeap::pop_due(base::TimePoint now) noexcept {
  while (!heap_.empty() && heap_.front().key <= now) {
    TimerNode& node = *heap_.front().node;
    const base::TimePoint deadline = node.deadline;
    if (deadline != TimerNode::kNever && deadline > heap_.front().key) {
      sift_down(0, {deadline, &node});  // it was moved later in the meantime
      continue;
    }
    remove(node);
    if (deadline != TimerNode::kNever) return &node;
  }
  return nullptr;
}

void TimerHeap::put(std::size_t at, Entry entry) noexcept {
  heap_[at] = entry;
  entry.node->place = static_cast<std::uint32_t>(at);
}

void TimerHeap::sift_up(std::size_t at, Entry entry) noexcept {
  while (at > 0) {
    const std::size_t parent = (at - 1) / kArms;
    if (heap_[parent].key <= entry.key) break;
    put(at, heap_[parent]);
    at = parent;
  }
  put(at, entry);
}

void TimerHeap::sift_down(std::size_t at, Entry entry) noexcept {
  for (;;) {
    const std::size_t first = at * kArms + 1;
    if (first >= heap_.size()) break;
    const std::size_t end = std::min(first + kArms, heap_.size());
    std::size_t least = first;
    for (std::size_t i = first + 1; i < end; ++i) {
      if (heap_[i].key < heap_[least].key) least = i;
    }
    if (heap_[least].key >= entry.key) break;
    put(at, heap_[least]);
    at = least;
  }
  put(at, entry);
}

}  // namespace steelyard::io
