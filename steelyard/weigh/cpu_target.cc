#include "steelyard/weigh/cpu_target.h"

#include <algorithm>

#include "steelyard/weigh/words.h"

namespace steelyard::weigh {

namespace {
constexpr double kLeast = 0.01;  // an idle node would divide by zero
}

void CpuTarget::wish(std::span<const View> nodes, base::TimePoint now, std::span<Wish> out) {
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const View& node = nodes[i];
    Wish& wish = out[i];
    if (!node.seen->utilisation) {
      above_since_.forget(node.ref);
      if (node.explain) wish.why = "no utilisation known";
      continue;
    }
    const double used = node.seen->utilisation->value;
    wish.known = true;
    wish.value = options_.target / std::max(used, kLeast);
    if (used > options_.limit) {
      const base::TimePoint* since = above_since_.find(node.ref);
      if (since == nullptr) since = &above_since_.put(node.ref, now);
      wish.floor = now - *since >= options_.sustained;
      if (node.explain && wish.floor) {
        wish.why = "utilisation " + percent(used) + ", above " + percent(options_.limit) + " for " +
                   lasting(now - *since) + ": the floor weight";
      }
    } else {
      above_since_.forget(node.ref);
    }
    if (node.explain && !wish.floor) {
      wish.why = "utilisation " + percent(used) + ", target " + percent(options_.target) + " → ×" +
                 decimal(wish.value);
    }
  }
}

}  // namespace steelyard::weigh
