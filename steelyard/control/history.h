// History: the latest decisions, newest first, in a bounded ring. The ledger keeps them all; this
// is what the API shows.
//
// A value. Cost: add O(1), query O(capacity). Memory: `capacity` decisions, allocated as they come.
// Owner: control.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "steelyard/model/decision.h"

namespace steelyard::control {

struct HistoryFilter {
  std::string_view upstream;  // empty: all
  std::string_view node;      // empty: all, also those about whole upstreams
  std::size_t limit = 100;
};

class History {
 public:
  explicit History(std::size_t capacity = 4096) : capacity_(capacity == 0 ? 1 : capacity) {}

  void add(model::Decision decision);
  // Newest first. The pointers hold until the next `add`.
  [[nodiscard]] std::vector<const model::Decision*> find(const HistoryFilter& filter) const;
  [[nodiscard]] std::size_t size() const noexcept { return ring_.size(); }
  [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }

 private:
  std::size_t capacity_;
  std::size_t next_ = 0;  // where the next one goes once the ring is full
  std::vector<model::Decision> ring_;
};

}  // namespace steelyard::control
