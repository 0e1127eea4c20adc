#include "steelyard/weigh/bound.h"

#include <algorithm>
#include <cstddef>

namespace steelyard::weigh {

namespace {

constexpr double kSlack = 1e-12;

// Marks nodes above their cap until none of the others is; gives the total at which every capped
// node has just its cap.
double find_capped(std::span<Bounded> nodes) {
  for (;;) {
    double open = 0;
    double caps = 0;
    for (const Bounded& node : nodes)
      (node.capped ? caps : open) += node.capped ? node.most : node.weight;
    const bool solvable = caps < 1 - kSlack && open > 0;
    const double total = solvable ? open / (1 - caps) : 0;
    if (!solvable) return 0;
    bool more = false;
    for (Bounded& node : nodes) {
      if (!node.capped && node.weight > node.most * total * (1 + kSlack)) node.capped = more = true;
    }
    if (!more) return total;
  }
}

void apply_cap(std::span<Bounded> nodes, double cap) {
  double base = 0;
  double sum = 0;
  for (const Bounded& node : nodes) {
    base += node.base;
    sum += node.weight;
  }
  for (Bounded& node : nodes) {
    const double share = node.base / base;
    node.most = std::max(share, std::min(cap, 2 * share));
  }
  double total = find_capped(nodes);
  if (total == 0) {  // all at their caps, which then sum to 1
    total = sum;
    for (Bounded& node : nodes) node.capped = true;
  }
  double raise = 1;
  for (Bounded& node : nodes) {
    if (!node.capped) continue;
    const double least = std::min(node.weight, node.base);
    node.weight = node.most * total;
    raise = std::max(raise, least / node.weight);
  }
  if (raise <= 1 + kSlack) return;
  for (Bounded& node : nodes) {
    node.weight *= raise;
    node.raised = !node.capped;
  }
}

}  // namespace

void bound(std::span<Bounded> nodes, double cap) {
  for (Bounded& node : nodes) {
    node.floored = node.weight < node.floor;
    node.weight = std::max(node.weight, node.floor);
    node.capped = node.raised = false;
    node.most = 1;
  }
  if (nodes.size() < 3) return;
  apply_cap(nodes, cap);
}

}  // namespace steelyard::weigh
