// Least connections, weighted: the lowest (in-flight + 1) / weight wins; ties go to smooth weighted
// round robin among the tied.
//
// When no pickable node has a request in flight there is no load to compare: all are tied, so that
// an idle upstream still follows the weights (without this its heaviest node would get everything).
// As soon as one is busy the comparison decides, and a big idle node beats a small idle one.
// Source: the rule of Nginx's least_conn with the placed request counted in. In-flight is shared by
// all workers, else each would see only its own part. Only the tied move in the rotation (smooth.h,
// which also says how it is carried over). Deviation from weight / sum while idle: below 2 picks.
// Held requests divide as weights do: 3,2,1 and 12 held are 6,4,2.
//
// Cost: O(n), no allocation; 10,000 nodes are for `p2c`. The cursor: one worker.
#pragma once

#include "steelyard/pick/smooth.h"

namespace steelyard::pick {

class LeastConnections final : public Picker {
 public:
  explicit LeastConnections(const model::TableUpstream& upstream);

  static std::unique_ptr<Cursor> cursor_at(std::uint64_t phase);  // 0: ties begin with the heaviest
  [[nodiscard]] std::unique_ptr<Cursor> make_cursor(base::Rng& rng) const override;
  void adopt(Cursor& cursor) const override;
  [[nodiscard]] std::optional<Index> pick(const Input& in, Cursor& cursor,
                                          base::Rng& rng) const noexcept override;

 private:
  Candidates candidates_;
  SmoothRotation rotation_;
};

}  // namespace steelyard::pick
