#include "steelyard/weigh/static_weights.h"

namespace steelyard::weigh {

void StaticWeights::wish(std::span<const View> nodes, base::TimePoint, std::span<Wish> out) {
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    out[i].known = true;
    out[i].value = 1;
    if (nodes[i].explain) out[i].why = "static: the configured weight";
  }
}

}  // namespace steelyard::weigh
