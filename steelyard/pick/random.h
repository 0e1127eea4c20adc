// Random: each pick an independent draw, each node with probability 1/n, whatever its weight;
// weight 0 gets no picks.
//
// For equal nodes without state; who wants weights takes `weighted_random`. Nodes that this request
// may not take leave the draw. Deviation from 1/n after m picks: normal, standard deviation
// sqrt((1/n)(1 − 1/n) / m): of 10 picks on 3 nodes all go to one with probability 5.1e-5.
//
// Cost: O(1), at worst O(n) when few can be taken; no allocation. No cursor: nothing moves.
#pragma once

#include "steelyard/pick/weighted_random.h"

namespace steelyard::pick {

class Random final : public WeightedRandom {
 public:
  explicit Random(const model::TableUpstream& upstream);
};

}  // namespace steelyard::pick
