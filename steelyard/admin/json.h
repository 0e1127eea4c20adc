// The API's JSON, from values: upstreams with their nodes, and decisions. Times are RFC 3339 in
// UTC, durations are seconds in fields named `…_seconds`; what is unknown is null, never 0.
//
// Pure but for the pair of clocks it is given. Cost: O(output).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "steelyard/base/time.h"
#include "steelyard/control/view.h"
#include "steelyard/io/clock.h"
#include "steelyard/model/decision.h"

namespace steelyard::admin {

// One moment on both clocks.
struct Now {
  base::TimePoint steady;
  io::WallTime wall;
};

struct UpstreamsBody {
  std::uint64_t table = 0;   // number of the table that the workers hold
  std::uint64_t config = 0;  // number of the configuration
};

// `only`: one upstream; empty: all, in an object with `upstreams`.
[[nodiscard]] std::string upstreams_json(std::span<const control::UpstreamView> views,
                                         const UpstreamsBody& body, const Now& now);
[[nodiscard]] std::string upstream_json(const control::UpstreamView& view, const Now& now);
[[nodiscard]] std::string decisions_json(std::span<const model::Decision* const> decisions,
                                         const Now& now);
// {"error": {"status": …, "text": …}}
[[nodiscard]] std::string error_json(int status, std::string_view text);

}  // namespace steelyard::admin
