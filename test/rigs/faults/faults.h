// The faults of the suite, by their number in the list of what the program survives. Each runs a
// stage of its own and reports; each is bounded to about 20 s.
#pragma once

#include <span>

#include "test/rigs/lib/stage.h"

namespace steelyard::rigs {

struct Fault {
  const char* name;
  const char* what;
  Report (*run)(Context& context, const Fault& fault);
};

[[nodiscard]] std::span<const Fault> node_faults();     // F1–F5, F19–F23: nodes die and lie
[[nodiscard]] std::span<const Fault> client_faults();   // F6, F7, F26, F46, F47, slow
[[nodiscard]] std::span<const Fault> network_faults();  // F8, F9, F15–F17, F27: the network between
[[nodiscard]] std::span<const Fault> process_faults();  // F40–F45, F48: the program itself

}  // namespace steelyard::rigs
