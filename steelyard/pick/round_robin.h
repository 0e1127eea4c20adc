// Round robin: each node in turn, whatever its weight; weight 0 gets no picks.
//
// Weights above 0 are ignored on purpose: this is the plain rotation that people mean by the name.
// So a ramp or a controller does not act under it either; who wants them takes
// `smooth_weighted_round_robin`. The turn goes by slot, not
// by place in the list: another order of the list, nodes that come or go, do not disturb it, and
// each node gets one pick a round. A node that cannot be taken when its turn comes loses the turn.
// The cursor is the node picked last; no counter, so nothing wraps. First node: at random.
// Deviation from 1/n: below 1 pick.
//
// Cost: O(1 + nodes passed over), no allocation; adopt O(log n). The cursor: one worker.
#pragma once

#include <vector>

#include "steelyard/pick/phase.h"
#include "steelyard/pick/picker.h"

namespace steelyard::pick {

class RoundRobin final : public Picker {
 public:
  explicit RoundRobin(const model::TableUpstream& upstream);

  static std::unique_ptr<Cursor> cursor_at(std::uint64_t phase);  // 0: begins with the first node
  [[nodiscard]] std::unique_ptr<Cursor> make_cursor(base::Rng& rng) const override;
  void adopt(Cursor& cursor) const override;
  [[nodiscard]] std::optional<Index> pick(const Input& in, Cursor& cursor,
                                          base::Rng& rng) const noexcept override;

 private:
  struct Turn {
    model::NodeRef ref;
    Index index;
  };
  std::vector<Turn> turns_;  // by NodeRef
};

}  // namespace steelyard::pick
