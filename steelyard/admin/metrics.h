// What /metrics says of upstreams, nodes, weights and signals, from the brain's views.
#pragma once

#include <span>

#include "steelyard/admin/exposition.h"
#include "steelyard/base/time.h"
#include "steelyard/control/view.h"

namespace steelyard::admin {

// Each family once, over all upstreams.
void write_upstream_metrics(Exposition& out, std::span<const control::UpstreamView> views,
                            base::TimePoint now);

}  // namespace steelyard::admin
