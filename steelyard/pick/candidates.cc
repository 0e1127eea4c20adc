#include "steelyard/pick/candidates.h"

#include <algorithm>
#include <cmath>

namespace steelyard::pick {
namespace {

// 2^46 leaves 17 bits above for what SWRR can pile up over 100,000 nodes under the worst order of
// exclusions.
constexpr int kTotalBits = 46;

bool picks(const model::TableNode& node, bool panic) {
  return model::in_rotation(node.eligibility, panic) && std::isfinite(node.weight) &&
         node.weight > 0;
}

}  // namespace

Candidates Candidates::of(const model::TableUpstream& upstream) {
  Candidates out;
  double sum = 0;
  for (std::uint32_t i = 0; i < upstream.nodes.size(); ++i) {
    const auto& node = upstream.nodes[i];
    if (!picks(node, upstream.panic)) continue;
    out.index.push_back(i);
    out.refs.push_back(node.ref);
    sum += node.weight;
  }
  out.weight.reserve(out.index.size());
  const int shift = out.index.empty() ? 0 : kTotalBits - 1 - std::ilogb(sum);
  for (const Index i : out.index) {
    const auto quanta = std::llround(std::ldexp(upstream.nodes[i].weight, shift));
    out.weight.push_back(std::max<std::int64_t>(1, quanta));
    out.total += out.weight.back();
  }
  return out;
}

}  // namespace steelyard::pick
