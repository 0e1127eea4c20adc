// Smooth weighted round robin: exact shares, spread as evenly as they go. 5,1,1 gives a a b a c a
// a.
//
// The rule, its source, the carrying over and the random start are in smooth.h. A node that this
// request may not take (tried, or at its in-flight limit) keeps its credit and takes no part in
// that pick. Deviation from weight / sum over a fixed set: below 2 picks, for any number of picks.
//
// Cost: O(n), no allocation; 10,000 nodes are for `p2c` or `weighted_random`. The cursor: one
// worker.
#pragma once

#include "steelyard/pick/smooth.h"

namespace steelyard::pick {

class SmoothWeightedRoundRobin final : public Picker {
 public:
  explicit SmoothWeightedRoundRobin(const model::TableUpstream& upstream);

  static std::unique_ptr<Cursor> cursor_at(std::uint64_t phase);  // 0: the textbook sequence
  [[nodiscard]] std::unique_ptr<Cursor> make_cursor(base::Rng& rng) const override;
  void adopt(Cursor& cursor) const override;
  [[nodiscard]] std::optional<Index> pick(const Input& in, Cursor& cursor,
                                          base::Rng& rng) const noexcept override;

 private:
  Candidates candidates_;
  SmoothRotation rotation_;
};

}  // namespace steelyard::pick
