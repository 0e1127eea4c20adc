// What /metrics says of upstreams, nodes, weights and signals, from the brain's views.
#pragma once

#include <span>

#include "steelyard/admin/exposition.h"
#include "steelyard/base/time.h"
#include "steelyard/control/view.h"

namespace steelyard::admin {

// Each family once, over all upstreams; `gone` are the counts of those that left.
void write_upstream_metrics(Exposition& out, std::span<const control::UpstreamView> views,
                            const control::Counts& gone, base::TimePoint now);

}  // namespace steelyard::admin
