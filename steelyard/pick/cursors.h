// Cursors: everything one worker keeps from Table to Table for its picks: a Cursor for each
// upstream, by name.
//
// `adopt` once for each new Table, before the first pick from it: known upstreams carry their
// rotation over; new ones, and those whose picker is another kind now, begin at a random phase;
// vanished ones are dropped. `pick` then takes the place of an upstream in that Table. One worker;
// keeps no pointer to the Table.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "steelyard/pick/table.h"

namespace steelyard::pick {

class Cursors {
 public:
  // Allocates; not on the request path. O(upstreams × log upstreams).
  void adopt(const Table& table, base::Rng& rng);

  // `upstream`: place in table.model->upstreams, of the Table adopted last.
  [[nodiscard]] std::optional<Index> pick(const Table& table, std::size_t upstream, const Input& in,
                                          base::Rng& rng) noexcept;

 private:
  struct Entry {
    std::string upstream;
    const Kind* kind = nullptr;
    std::unique_ptr<Cursor> cursor;
  };
  std::vector<Entry> entries_;  // in the order of the Table's upstreams
};

}  // namespace steelyard::pick
