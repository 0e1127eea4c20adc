// When a node's own report is not believed: our measurements against the upstream's median.
//
// A report may lower its node's weight freely. It may raise it only while our own measurements
// agree:
//   - its error rate is at most `error_margin` above the median; fast errors attract no traffic
//   - its median latency is at most `latency_factor` × the median, or within `latency_slack` of it
//
// Being better than the median raises no objection. What we have not measured (no traffic of ours,
// too little of it) raises none either. Medians are over the nodes in service that have the value,
// at least two. Cost: O(nodes) to make, O(1) to ask.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "steelyard/base/time.h"
#include "steelyard/weigh/controller.h"
#include "steelyard/weigh/options.h"

namespace steelyard::weigh {

class Trust {
 public:
  Trust(std::span<const View> nodes, const TrustOptions& options);

  // Why this node may not gain, in words with the numbers; nothing when it may.
  [[nodiscard]] std::optional<std::string> objection(const model::Observation& seen) const;

 private:
  TrustOptions options_;
  std::optional<double> errors_;
  std::optional<base::Duration> latency_;
};

}  // namespace steelyard::weigh
