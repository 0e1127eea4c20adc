// What `pool.connections` carries, as far as a configuration says it without traffic.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "steelyard/config/document.h"

namespace steelyard::cli {

// As configured, else those that this machine would get.
[[nodiscard]] unsigned workers_of(const config::Document& document);
// Idle connections kept to a node by so many workers together.
[[nodiscard]] std::uint64_t kept_per_node(const config::Document& document, unsigned workers);
// A line for people; empty where no listener leads traffic through us. The rule behind it: 1.5 ×
// requests a second × latency are to be kept.
[[nodiscard]] std::string pool_words(const config::Document& document, unsigned workers);
// Upstreams whose nodes may have more requests at a time than connections are kept to them: path of
// the limit, and what is wrong with it. Nothing where none is to be kept.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> small_pools(
    const config::Document& document, unsigned workers);

}  // namespace steelyard::cli
