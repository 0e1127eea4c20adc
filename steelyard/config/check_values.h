// Checks of single values that the schema cannot say: addresses of nodes, hosts, paths, regular
// expressions.
#pragma once

#include <string>
#include <string_view>

#include "steelyard/config/check_context.h"

namespace steelyard::config {

// Both cannot be bound: the same address, or one of them is every address of that port.
[[nodiscard]] bool collide(const base::Address& a, const base::Address& b);
// Why no node can have this address; empty: one can.
[[nodiscard]] std::string_view no_node_at(const base::Address& address);
// That a node can be there, and is not ourselves.
void check_node_address(const Context& in, const std::string& path, const base::Address& address);
// Every variable that is not known, not the first alone.
void check_log_format(const Context& in, const std::string& path, const std::string& format);
void check_match(const Context& in, const std::string& path, const request::MatchOptions& match);

}  // namespace steelyard::config
