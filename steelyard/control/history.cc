#include "steelyard/control/history.h"

#include <utility>

namespace steelyard::control {

void History::add(model::Decision decision) {
  if (ring_.size() < capacity_) {
    ring_.push_back(std::move(decision));
    return;
  }
  ring_[next_] = std::move(decision);
  next_ = (next_ + 1) % capacity_;
}

std::vector<const model::Decision*> History::find(const HistoryFilter& filter) const {
  std::vector<const model::Decision*> found;
  for (std::size_t i = 0; i < ring_.size() && found.size() < filter.limit; ++i) {
    // `next_` is the oldest once the ring is full, 0 before: one step back from it is the newest
    // either way.
    const model::Decision& d = ring_[(next_ + ring_.size() - 1 - i) % ring_.size()];
    if (!filter.upstream.empty() && d.node.upstream != filter.upstream) continue;
    if (!filter.node.empty() && d.node.name != filter.node) continue;
    found.push_back(&d);
  }
  return found;
}

}  // namespace steelyard::control
