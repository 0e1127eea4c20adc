// StateBlob: what must survive reload, restart, crash and upgrade, by (upstream, name): weights,
// ejections, ramps, overrides.
//
// A value: control fills it each tick and reads it at start; whoever provides the listening sockets
// keeps the bytes (in process now, the supervisor later). The byte form is versioned, checksummed
// and position-free; a blob that does not check out is refused whole, never half used. Times are
// stored as ages, since the steady clock differs between boots.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "steelyard/base/result.h"
#include "steelyard/base/time.h"
#include "steelyard/model/node_ref.h"
#include "steelyard/model/override.h"

namespace steelyard::model {

struct NodeState {
  NodeId id;
  std::string
      address;  // another address under the name is another incarnation: health is not restored
  double control = 1;  // the controllers' factor around 1
  std::uint32_t ejections = 0;
  std::optional<base::Duration> out_for;   // still to stay out
  std::optional<base::Duration> ramp_age;  // time since its ramp began
  std::optional<Override> override_;       // since/until relative to the `now` of encode/decode
};

struct StateBlob {
  std::vector<NodeState> nodes;
};

[[nodiscard]] std::vector<std::byte> encode(const StateBlob& state, base::TimePoint now);
[[nodiscard]] base::Result<StateBlob> decode(std::span<const std::byte> bytes, base::TimePoint now);

}  // namespace steelyard::model
