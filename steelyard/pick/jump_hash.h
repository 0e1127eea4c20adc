// Jump hash: a key goes to one of the upstream's nodes by its place in the list, whatever the
// weights; weight 0 gets no picks.
//
// For shards: a node added at the end of the list takes 1/n of the keys of each other one and
// nothing else moves; one taken out elsewhere moves the keys of all behind it (jump.h). All nodes
// of the list count, also those out of rotation, so that the keys of the others stay when one falls
// ill: its own are spread over the rest, by more jumps, then by a draw (keyed.h).
//
// Cost: O(log n) and a hash. Shares: 1/n of the nodes in rotation. Immutable, shared by all
// workers.
#pragma once

#include "steelyard/pick/keyed.h"

namespace steelyard::pick {

class JumpHash final : public Keyed {
 public:
  explicit JumpHash(const model::TableUpstream& upstream, const KeyedOptions& options = {});

 private:
  JumpHash(const model::TableUpstream& upstream, const Candidates& candidates,
           const KeyedOptions& options);
  [[nodiscard]] std::optional<Position> find(std::uint64_t number,
                                             const Takes& takes) const noexcept override;
  [[nodiscard]] std::vector<double> shares() const override;

  std::vector<Position> places_;  // by place in the list; kNone: not in rotation
};

}  // namespace steelyard::pick
