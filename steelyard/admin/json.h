// The API's JSON, from values: upstreams with their nodes, and decisions. Times are RFC 3339 in
// UTC, durations are seconds in fields named `…_seconds`; what is unknown is null, never 0.
//
// Pure but for the pair of clocks it is given. Cost: O(output).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

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

// What a driver did, as values; whoever runs the drivers fills it in.
struct DriverNode {
  std::string node;
  double intended = 0;             // share that control wants
  std::optional<double> verified;  // share that was read back
};
struct DriverView {
  std::string upstream, kind, target, state, reason, last_error;
  std::uint64_t wanted_table = 0, applied_table = 0;
  std::vector<DriverNode> nodes;
  double drift = 0;
  std::uint64_t applies = 0, failures = 0, rollbacks = 0, reloads = 0, edits = 0;
  std::optional<std::uint64_t> old_workers;
  std::optional<base::TimePoint> last_success;
};

[[nodiscard]] std::string upstreams_json(std::span<const control::UpstreamView> views,
                                         const UpstreamsBody& body, const Now& now);
[[nodiscard]] std::string upstream_json(const control::UpstreamView& view, const Now& now);
[[nodiscard]] std::string decisions_json(std::span<const model::Decision* const> decisions,
                                         const Now& now);
[[nodiscard]] std::string drivers_json(std::span<const DriverView> drivers, const Now& now);
// The node after a write; `silent` are the workers that have not confirmed the new table.
[[nodiscard]] std::string adjusted_json(std::string_view upstream, const control::NodeView& node,
                                        std::span<const std::uint32_t> silent, const Now& now);
// {"error": {"status": …, "text": …}}
[[nodiscard]] std::string error_json(int status, std::string_view text);

}  // namespace steelyard::admin
