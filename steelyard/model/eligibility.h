// Eligibility: the one place that combines health, drain, capacity and "already tried" into "may
// this node be picked".
//
// Control folds health, drain and panic into one value a node (published in the Table); what
// changes within a request (already tried, at its in-flight limit) is asked here too. Pickers call
// `pickable` and decide nothing themselves.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "steelyard/model/node_ref.h"
#include "steelyard/model/slots.h"

namespace steelyard::model {

enum class Eligibility : std::uint8_t {
  kUsable,    // in service (also while its ramp runs)
  kTrial,     // half open: picked, but one request at a time (NodeLine::max_in_flight is 1)
  kOut,       // ejected, failing its checks, or not yet checked: no picks unless panic
  kDraining,  // weight 0 or drained by a person: no new picks, never, old work goes on
};
[[nodiscard]] std::string_view to_text(Eligibility eligibility) noexcept;

// May a table of this eligibility be picked at all? In panic also those out, never those draining.
[[nodiscard]] constexpr bool in_rotation(Eligibility e, bool panic) noexcept {
  return e == Eligibility::kUsable || e == Eligibility::kTrial || (panic && e == Eligibility::kOut);
}

// May this request take a node that is in rotation? Not if it was tried already, not at its
// in-flight limit. O(tried).
[[nodiscard]] inline bool pickable(NodeRef node, std::span<const NodeRef> tried,
                                   const Slots& slots) noexcept {
  for (const NodeRef t : tried) {
    if (t == node) return false;
  }
  const NodeLine& line = slots.line(node);
  const auto max = line.most();
  return max == 0 || line.in_flight.load(std::memory_order_relaxed) < max;
}

}  // namespace steelyard::model
