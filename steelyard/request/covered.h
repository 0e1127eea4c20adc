// covered_by: routes of a listener that are never taken, since another takes all that they could.
//
// Told are those with the same host and path; that a regular expression covers a prefix is not
// found. Pure.
//
// Cost: a look-up a route for its place, and among the routes of one place a comparison only with
// those that share the condition which fewest have: near linear, whatever the number of routes.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "steelyard/request/options.h"

namespace steelyard::request {

// For each route the first one that takes everything that it could take, before it: then it is
// never taken.
[[nodiscard]] std::vector<std::optional<std::size_t>> covered_by(
    std::span<const RouteOptions> routes);

}  // namespace steelyard::request
