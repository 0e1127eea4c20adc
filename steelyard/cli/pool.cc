#include "steelyard/cli/pool.h"

#include <fmt/format.h>

#include "steelyard/io/thread.h"

namespace steelyard::cli {
namespace {

std::string shares(const config::Document& document, unsigned workers) {
  return fmt::format("{} by each of {} worker{}", document.proxy.pool.connections, workers,
                     workers == 1 ? "" : "s");
}

}  // namespace

unsigned workers_of(const config::Document& document) {
  return document.proxy.workers != 0 ? document.proxy.workers : io::usable_processors();
}

std::uint64_t kept_per_node(const config::Document& document, unsigned workers) {
  return std::uint64_t{document.proxy.pool.connections} * workers;
}

std::string pool_words(const config::Document& document, unsigned workers) {
  const auto kept = kept_per_node(document, workers);
  if (document.listeners.empty()) return {};
  if (kept == 0) return "pool: no connection to a node is kept\n";
  return fmt::format(
      "pool: {} idle connections kept to each node ({}), good for {} requests at a time (requests "
      "a second x latency); pool_advice in the API says what traffic needs\n",
      kept, shares(document, workers), kept * 2 / 3);
}

std::vector<std::pair<std::string, std::string>> small_pools(const config::Document& document,
                                                             unsigned workers) {
  std::vector<std::pair<std::string, std::string>> out;
  const auto kept = kept_per_node(document, workers);
  if (kept == 0 || document.listeners.empty()) return out;  // the first is told by itself
  for (const auto& [name, upstream] : document.upstreams) {
    const std::uint64_t most = upstream.rules.limits.max_in_flight;
    if (most <= kept) continue;
    out.emplace_back(
        "upstreams." + name + ".limits.max_in_flight",
        fmt::format("is {}, but {} connections to a node are kept ({}): at the limit "
                    "others are opened anew each time; pool.connections: {} would do",
                    most, kept, shares(document, workers), (most + workers - 1) / workers));
  }
  return out;
}

}  // namespace steelyard::cli
