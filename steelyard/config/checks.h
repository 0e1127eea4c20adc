// Cross-checks: what no field alone can say, over the whole document. Called by load.
#pragma once

#include "steelyard/config/document.h"
#include "steelyard/schema/problems.h"
#include "steelyard/schema/tree.h"

namespace steelyard::config {

// `tree` is what `document` was read from; it gives the places and tells a written value from a
// default.
void cross_check(const Document& document, const schema::Node& tree, schema::Problems& problems);

}  // namespace steelyard::config
