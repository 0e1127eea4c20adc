// POST /api/adjust-weight: {"node": "node-a", "weight": 4}, optionally "upstream", "reason",
// "expires".
//
// `weight` is in base units, 0 drains. `expires` is a duration ("30m", or a number of seconds); an
// hour without it, at most 30 days. Unknown fields are errors, since a misspelt "expires" must not
// mean an hour. Pure.
#pragma once

#include <string>
#include <string_view>

#include "steelyard/base/result.h"
#include "steelyard/base/time.h"

namespace steelyard::admin {

struct Adjustment {
  std::string node;
  std::string upstream;  // empty: the one that has the node
  double weight = 0;
  std::string reason = "api";
  base::Duration expires = std::chrono::hours(1);
};

inline constexpr double kMinWeight = 1e-3;
inline constexpr double kMaxWeight = 1e6;

// kInvalid with what is wrong and where.
[[nodiscard]] base::Result<Adjustment> parse_adjustment(std::string_view body);

}  // namespace steelyard::admin
