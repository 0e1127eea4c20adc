// Floor and cap over a whole upstream: no node in service starves, none takes all.
//
//   weight ≥ floor;   share ≤ max(base share, min(cap, 2 × base share)), not below three nodes.
// A capped node is lowered until its share is the cap, given the others (exactly, also when several
// are capped: the caps sum to 1 or more, so there is always a solution). Only when that would put
// it below its floor, all weights are raised by one factor instead: shares are what counts. Cost:
// O(nodes × capped passes). Pure.
#pragma once

#include <span>

namespace steelyard::weigh {

struct Bounded {
  double base = 1;     // > 0
  double floor = 0.1;  // base units, > 0, ≤ base
  double weight = 1;   // in and out, base units, > 0
  bool floored = false;
  bool capped = false;
  double most = 1;  // its largest share
};

void bound(std::span<Bounded> nodes, double cap);

}  // namespace steelyard::weigh
