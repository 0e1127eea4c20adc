// Power of two choices: two distinct weighted draws, the one with the lower (in-flight + 1) /
// weight wins.
//
// When both are idle the first drawn wins, so that an idle upstream follows the weights; so does a
// tie. Never compares more than two nodes: O(1) in effect, and many balancers over the same nodes
// do not herd. Source: Mitzenmacher 2001; weighted comparison after Finagle. In-flight is shared by
// all workers. Deviation from weight / sum while idle: as weighted_random. Under load shares go
// where there is room; of n requests held on n equal nodes the fullest node holds about ln ln n /
// ln 2.
//
// Cost: O(log n), at worst O(n) when most of the weight cannot be taken; no allocation. No cursor:
// nothing moves.
#pragma once

#include "steelyard/pick/draw.h"

namespace steelyard::pick {

class P2c final : public Picker {
 public:
  explicit P2c(const model::TableUpstream& upstream);

  [[nodiscard]] std::unique_ptr<Cursor> make_cursor(base::Rng& rng) const override;
  void adopt(Cursor& cursor) const override;
  [[nodiscard]] std::optional<Index> pick(const Input& in, Cursor& cursor,
                                          base::Rng& rng) const noexcept override;

 private:
  Candidates candidates_;
  Draw draw_;
};

}  // namespace steelyard::pick
