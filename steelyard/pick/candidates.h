// Candidates: the nodes of one upstream that may be picked at all, with whole-numbered weights.
// What pickers prepare from.
//
// In: nodes in rotation (model::in_rotation) whose weight is finite and above 0; a weight of 0 gets
// no picks under any picker. In the order of the Table, which decides ties. Weights become whole
// quanta of 2^-k, one k for the list, so that their sum is below 2^46: sums, credits and
// comparisons are exact integers and cannot drift, however many picks. Whole weights, and halves,
// quarters …, are kept exactly; others (a ramp at one third) are rounded by less than 2^-45 of the
// sum. The smallest quantum is 1: a tiny weight never becomes 0.
//
// Columns, since a pick walks one or two of them. Cost: O(n) to make. Immutable, shared by all
// workers.
#pragma once

#include <cstdint>
#include <vector>

#include "steelyard/model/table.h"
#include "steelyard/pick/picker.h"

namespace steelyard::pick {

struct Candidates {
  std::vector<Index> index;          // into TableUpstream::nodes
  std::vector<model::NodeRef> refs;  // who it is
  std::vector<std::int64_t> weight;  // quanta, at least 1
  std::int64_t total = 0;            // sum of `weight`

  static Candidates of(const model::TableUpstream& upstream);
  [[nodiscard]] std::uint32_t size() const noexcept {
    return static_cast<std::uint32_t>(refs.size());
  }
};

}  // namespace steelyard::pick
