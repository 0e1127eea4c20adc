// Random: each pick an independent draw, each node with probability 1/n, whatever its weight;
// weight 0 gets no picks.
//
// For equal nodes without state; who wants weights takes `weighted_random`. Nodes that this request
// may not take leave the draw. Deviation from 1/n after m picks: normal, standard deviation
// sqrt((1/n)(1 − 1/n) / m): of 10 picks on 3 nodes all go to one with probability 5.1e-5.
//
// Cost: O(1), at worst O(n) when few can be taken; no allocation. No cursor: nothing moves.
#pragma once

#include "steelyard/pick/draw.h"

namespace steelyard::pick {

class Random final : public Picker {
 public:
  explicit Random(const model::TableUpstream& upstream);

  [[nodiscard]] std::unique_ptr<Cursor> make_cursor(base::Rng& rng) const override;
  void adopt(Cursor& cursor) const override;
  [[nodiscard]] std::optional<Index> pick(const Input& in, Cursor& cursor,
                                          base::Rng& rng) const noexcept override;

 private:
  explicit Random(const Candidates& candidates);

  std::vector<Index> index_;
  Draw draw_;
};

}  // namespace steelyard::pick
