#include "steelyard/cli/plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <vector>

#include "steelyard/config/load.h"
#include "steelyard/weigh/choose.h"

namespace steelyard::cli {
namespace {

std::string match_words(const request::MatchOptions& match) {
  std::string out = match.host.empty() ? "any host" : match.host;
  if (!match.path_exact.empty()) {
    out += ", path exactly " + match.path_exact;
  } else if (!match.path_regex.empty()) {
    out += ", path like " + match.path_regex;
  } else {
    out += match.path == "/" ? ", any path" : ", path " + match.path + " and below";
  }
  if (!match.methods.empty()) out += fmt::format(", methods {}", fmt::join(match.methods, " "));
  const auto names = [&](std::string_view what, const auto& values) {
    if (values.entries.empty()) return;
    out += fmt::format(", by {}", what);
    for (const auto& [name, value] : values) out += " " + name;
  };
  names("header", match.headers);
  names("cookie", match.cookies);
  names("query argument", match.query);
  if (!match.clients.empty()) out += fmt::format(", clients {}", fmt::join(match.clients, " "));
  return out;
}

std::string target_words(const request::RouteOptions& route) {
  if (route.split.empty()) return "upstream " + route.upstream;
  std::vector<std::string> parts;
  for (const auto& part : route.split) {
    parts.push_back(fmt::format("{} {}", part.upstream, part.weight));
  }
  return fmt::format("split by {}: {}", route.split_by, fmt::join(parts, ", "));
}

std::string_view health_words(const health::Options& health) {
  const bool traffic = health.passive.consecutive_failures != 0;
  if (!health.active) {
    return traffic ? "traffic alone (no health.active)"
                   : "nothing (no health.active, no consecutive_failures): no node is taken out";
  }
  return traffic ? "checks and traffic" : "checks alone";
}

}  // namespace

std::string plan_of(const config::Document& document) {
  std::string out;
  for (const auto& listener : document.listeners) {
    for (const auto& route : listener.routes) {
      out += fmt::format("route {}, {} -> {}\n", listener.address.to_text(),
                         match_words(route.match), target_words(route));
    }
  }
  for (const auto& [name, upstream] : document.upstreams) {
    const auto choice =
        weigh::choose(upstream.weigh.controller.name, upstream.sense.score.has_value());
    const auto nodes = upstream.nodes.size();
    out += fmt::format("upstream {}: {} node{}, picked by {}; health by {}; weights by {}: {}\n",
                       name, nodes, nodes == 1 ? "" : "s", upstream.pick.name,
                       health_words(upstream.health), choice.controller, choice.why);
  }
  out += fmt::format("fixed until restart: {}\n", fmt::join(config::fixed_options(), ", "));
  return out;
}

}  // namespace steelyard::cli
