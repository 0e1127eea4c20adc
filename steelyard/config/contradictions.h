// Options that contradict each other or cannot take effect: warnings.
#pragma once

#include "steelyard/config/check_context.h"

namespace steelyard::config {

void check_contradictions(const Context& in);

}  // namespace steelyard::config
