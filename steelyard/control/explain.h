// Explain: one Decision for a node in a tick, with every stage in order and one sentence in words;
// for control's .cc only.
#pragma once

#include <optional>
#include <vector>

#include "steelyard/control/state.h"

namespace steelyard::control {

// What a node's tick came to, before it is written into the Node.
struct Verdict {
  double weight = 0;
  double share = 0;
  model::Eligibility eligibility = model::Eligibility::kUsable;
  double lift = 1;  // in panic
};

// Nothing when nothing changed, and for what is held back and was told already.
[[nodiscard]] std::optional<model::Decision> explain(const Upstream& upstream, Node& node,
                                                     const Verdict& verdict,
                                                     const weigh::NodeOutcome& outcome,
                                                     const TickWork& work);
// The upstream entered or left panic.
[[nodiscard]] model::Decision explain_panic(const Upstream& upstream, std::size_t healthy,
                                            std::size_t of, const TickWork& work);

// Another law runs, or all signals were lost or are back.
[[nodiscard]] model::Decision explain_law(const Upstream& upstream, std::string reason,
                                          const TickWork& work);

}  // namespace steelyard::control
