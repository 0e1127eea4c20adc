// Weighted random: each pick an independent draw, node i with probability weight / sum. One random
// number, O(1).
//
// Source: alias method, see draw.h. Nodes that this request may not take leave the draw; the rest
// keep their proportions. Deviation from the share after m picks: normal, standard deviation sqrt(p
// (1 − p) / m).
//
// Cost: O(1), at worst O(n) when most of the weight cannot be taken; no allocation. No cursor:
// nothing moves.
#pragma once

#include "steelyard/pick/draw.h"

namespace steelyard::pick {

class WeightedRandom : public Picker {
 public:
  explicit WeightedRandom(const model::TableUpstream& upstream);

  [[nodiscard]] std::unique_ptr<Cursor> make_cursor(base::Rng& rng) const override;
  void adopt(Cursor& cursor) const override;
  [[nodiscard]] std::optional<Index> pick(const Input& in, Cursor& cursor,
                                          base::Rng& rng) const noexcept override;

 protected:
  explicit WeightedRandom(const Candidates& candidates);

 private:
  std::vector<Index> index_;
  Draw draw_;
};

}  // namespace steelyard::pick
