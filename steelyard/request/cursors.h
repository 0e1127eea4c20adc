// Cursors: what the pickers of one worker move, kept by upstream and kind of picker, so that a new
// Table never restarts a rotation. `adopt` is called once for each new Table, before its first
// pick; the same upstream under the same kind of picker keeps its cursor, a changed kind starts
// anew at a random phase.
//
// Cost: adopt allocates and is O(upstreams²) at worst; `at` is an index. Owned by: one worker (or
// the simulator).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "steelyard/base/rng.h"
#include "steelyard/pick/table.h"

namespace steelyard::request {

class Cursors {
 public:
  void adopt(const pick::Table& table, base::Rng& rng);
  // `upstream`: place in the Table adopted last.
  [[nodiscard]] pick::Cursor& at(std::uint32_t upstream) noexcept {
    return *entries_[upstream].cursor;
  }
  [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }

 private:
  struct Entry {
    std::string upstream;
    const pick::Kind* kind = nullptr;
    std::unique_ptr<pick::Cursor> cursor;
  };
  std::vector<Entry> entries_;  // in the Table's order
};

}  // namespace steelyard::request
