// Floor and cap over a whole upstream: no node in service starves, none takes all.
//
//   weight ≥ floor
//   share ≤ max(base share, min(cap, 2 × base share)), not below three nodes
//
// A capped node gets just its cap, given the others (exactly, also when several are capped: the
// caps sum to 1 or more, so there is always a solution). Shares are what counts, so this is done by
// lowering it, but not below its base weight: from there on the others are raised. Three equal
// nodes with one ill: the caps of 40 % leave that one 20 %, as weights 1, 1, 0.5.
//
// Cost: O(nodes × passes), a pass for each further group that reaches its caps. Pure.
#pragma once

#include <span>

namespace steelyard::weigh {

struct Bounded {
  double base = 1;     // > 0
  double floor = 0.1;  // base units, > 0, ≤ base
  double weight = 1;   // in and out, base units, > 0
  bool floored = false;
  bool capped = false;
  bool raised = false;  // because others are at their caps
  double most = 1;      // its largest share
};

void bound(std::span<Bounded> nodes, double cap);

}  // namespace steelyard::weigh
