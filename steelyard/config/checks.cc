#include "steelyard/config/checks.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "steelyard/config/check_values.h"
#include "steelyard/config/contradictions.h"
#include "steelyard/request/conditions.h"
#include "steelyard/request/covered.h"
#include "steelyard/request/key.h"
#include "steelyard/weigh/registry.h"

namespace steelyard::config {
namespace {

void check_addresses(const Context& in) {
  const auto& listeners = in.document.listeners;
  for (std::size_t i = 0; i < listeners.size(); ++i) {
    const auto path = schema::join_index("listeners", i) + ".address";
    for (std::size_t j = 0; j < i; ++j) {
      if (!collide(listeners[i].address, listeners[j].address)) continue;
      const auto first = schema::join_index("listeners", j) + ".address";
      in.error(path, "is " + listeners[i].address.to_text() + ", which " + first + " (" +
                         in.where(first) + ") takes already");
      break;
    }
    if (collide(listeners[i].address, in.document.admin.address) && in.clean("admin.address")) {
      in.error(in.written("admin.address") ? "admin.address" : path,
               in.written("admin.address")
                   ? "is taken already by " + path + " (" + in.where(path) + ")"
                   : "is the address of the admin API: change it or admin.address");
    }
  }
}

// A limit that can never be reached since the total ends first.
void check_timeouts(const Context& in, const std::string& path,
                    const request::TimeoutOptions& timeouts) {
  if (!timeouts.total || !in.clean(path + ".total")) return;
  for (const auto& [key, value] :
       {std::pair{"connect", timeouts.connect}, {"head", timeouts.head}, {"idle", timeouts.idle}}) {
    const auto at = schema::join_path(path, key);
    if (value > *timeouts.total && in.written(at) && in.clean(at)) {
      in.warn(at, "is longer than total, so it never takes effect");
    }
  }
}

void check_upstream_name(const Context& in, const std::string& path, const std::string& name,
                         std::set<std::string>& used) {
  used.insert(name);
  if (name.empty() || !in.complete("upstreams") || in.upstream(name) != nullptr) {
    return;
  }
  std::vector<std::string_view> known;
  for (const auto& entry : in.document.upstreams) known.push_back(entry.first);
  in.error(path, "there is no upstream " + quoted(name) + schema::suggestion(name, known));
}

// A route that another one leaves nothing to.
void check_covered(const Context& in, const std::vector<request::RouteOptions>& routes,
                   const std::string& all, std::size_t at, std::optional<std::size_t> other) {
  if (!other) return;
  for (const auto route : {at, *other}) {
    if (!in.clean(schema::join_index(all, route) + ".match")) return;  // they may differ in that
  }
  const auto first = schema::join_index(all, *other);
  const bool plain = request::count_conditions(routes[at].match) == 0;
  in.error(schema::join_index(all, at),
           std::string(plain ? "matches the same host and path as " : "matches only what ") +
               first + " (" + in.where(first) + ")" + (plain ? "" : " takes before it") +
               ": it would never be taken");
}

void check_routes(const Context& in, std::set<std::string>& used) {
  for (std::size_t i = 0; i < in.document.listeners.size(); ++i) {
    const auto all = schema::join_index("listeners", i) + ".routes";
    const auto& routes = in.document.listeners[i].routes;
    const auto covered = request::covered_by(routes);
    for (std::size_t j = 0; j < routes.size(); ++j) {
      const auto path = schema::join_index(all, j);
      const auto& route = routes[j];
      check_match(in, path + ".match", route.match);
      check_timeouts(in, path + ".timeouts", route.timeouts);
      check_upstream_name(in, path + ".upstream", route.upstream, used);
      for (std::size_t k = 0; k < route.split.size(); ++k) {
        check_upstream_name(in, schema::join_index(path + ".split", k) + ".upstream",
                            route.split[k].upstream, used);
      }
      check_covered(in, routes, all, j, covered[j]);
    }
  }
}

void check_nodes(const Context& in, const std::string& path, const UpstreamOptions& upstream) {
  if (upstream.nodes.empty()) {
    if (in.clean(path) && in.written(path))
      in.warn(path, "is empty: every request to it is answered with 503");
    return;
  }
  std::map<std::string, std::size_t> names;
  std::map<base::Address, std::size_t> addresses;
  bool some_weight = false;
  double total = 0;
  std::vector<std::string> without;
  for (std::size_t i = 0; i < upstream.nodes.size(); ++i) {
    const auto& node = upstream.nodes[i];
    const auto at = schema::join_index(path, i);
    check_node_address(in, at, node.address);
    total += node.weight.value_or(NodeOptions::kDefaultWeight);
    some_weight = some_weight || node.weight.has_value();
    if (!node.address.valid()) continue;  // told already
    if (!node.weight) without.push_back(at);
    const auto [name, new_name] = names.emplace(node.name, i);
    const auto [address, new_address] = addresses.emplace(node.address, i);
    if (!new_name) {
      const auto first = schema::join_index(path, name->second);
      in.error(in.written(at + ".name") ? at + ".name" : at, "a second node " + quoted(node.name) +
                                                                 ", the first is " + first + " (" +
                                                                 in.where(first) + ")");
    } else if (!new_address) {
      in.warn(at, "has the same address as " + quoted(upstream.nodes[address->second].name) +
                      ": one process is counted as two nodes");
    }
  }
  if (some_weight && !without.empty()) {
    std::string text = "has no weight while others have one, so it gets 1";
    if (without.size() > 1) text += " (" + std::to_string(without.size()) + " nodes are like that)";
    in.warn(without.front(), text);
  }
  if (total == 0 && in.clean(path))
    in.warn(path, "all nodes have weight 0: every request is answered with 503");
}

// A picker that goes by a key needs one, and no other has a use for it.
void check_key(const Context& in, const std::string& path, const UpstreamOptions& upstream) {
  const auto& key = upstream.rules.key;
  if (const auto source = request::KeySource::parse(key); !source) {
    return in.error(path + ".key", "is " + quoted(key) + ", " + source.error().text);
  }
  const auto* kind = pick::find(upstream.pick.name);
  if (kind == nullptr || !in.clean(path + ".pick") || !in.clean(path + ".key")) return;
  const bool random = key == "random";
  if (kind->keyed && random) {
    in.error(path + ".pick", "is " + quoted(upstream.pick.name) +
                                 ", which goes by a key: say which, as `key: client` or `key: "
                                 "header:NAME` beside it");
  } else if (!kind->keyed && !random) {
    in.warn(path + ".key",
            "has no effect: " + quoted(upstream.pick.name) + " does not go by a key");
  }
}

// Keys that have no meaning beside others: said, since they would be ignored in silence.
void check_weigh(const Context& in, const std::string& path, const UpstreamOptions& upstream) {
  const auto& controller = upstream.weigh.controller.name;
  const auto* kind = weigh::find(controller);
  const auto at = path + ".weigh.controller";
  if (kind != nullptr && !kind->needs.empty() && !upstream.sense.score &&
      in.clean(path + ".sense")) {
    in.error(at, "is " + controller + ", which needs " + std::string(kind->needs) +
                     ": add sense: { score: {} }, which collects it");
  }
  if (controller != "static" || !in.clean(at)) return;
  for (const auto* key : {"smooth", "threshold", "cooldown", "step", "floor", "cap", "trust"}) {
    const auto unused = path + ".weigh." + key;
    if (in.written(unused))
      in.warn(unused, "has no effect: the controller is static, weights do not move");
  }
}

void check_sense(const Context& in, const std::string& path, const UpstreamOptions& upstream) {
  if (!upstream.sense.score) return;
  const auto& score = *upstream.sense.score;
  const auto at = path + ".sense.score.timeout";
  if (score.timeout > score.interval && in.written(at) && in.clean(path + ".sense.score")) {
    in.warn(at, "is longer than interval: the next collection waits for the last");
  }
}

void check_upstreams(const Context& in, const std::set<std::string>& used) {
  std::map<std::string, std::string> files;
  for (const auto& [name, upstream] : in.document.upstreams) {
    const auto path = schema::join_path("upstreams", name);
    check_nodes(in, path + ".nodes", upstream);
    check_key(in, path, upstream);
    check_weigh(in, path, upstream);
    check_sense(in, path, upstream);
    const bool applied = upstream.apply.nginx.has_value();
    if (!used.contains(name) && !applied && in.written("listeners") && in.clean("listeners") &&
        in.clean(path)) {
      in.warn(path, "is used by no route and applied nowhere");
    }
    if (!applied || upstream.apply.nginx->file.empty()) continue;
    const auto file = path + ".apply.nginx.file";
    const auto [other, first] = files.emplace(upstream.apply.nginx->file, file);
    if (!first) {
      in.error(file, "is " + quoted(upstream.apply.nginx->file) + ", which " + other->second +
                         " (" + in.where(other->second) +
                         ") writes already: each upstream has its own file");
    }
  }
}

void check_pool(const Context& in) {
  const auto& pool = in.document.proxy.pool;
  if (pool.connections == 0) {
    in.warn("pool.connections", "is 0: every request opens a connection to its node");
  } else if (pool.max_requests == 1) {
    in.warn("pool.max_requests", "is 1: every request opens a connection to its node");
  }
  for (const std::string key : {"pool.idle_timeout", "pool.max_age", "pool.max_requests"}) {
    if (pool.connections == 0 && in.written(key)) {
      in.warn(key, "has no effect: pool.connections is 0");
    }
  }
}

void check_log(const Context& in) {
  const auto& log = in.document.proxy.log;
  check_log_format(in, "log.format", log.format);
  for (const std::string key : {"log.format", "log.sample"}) {
    if (log.file.empty() && in.written(key) && in.clean(key) && in.clean("log.file"))
      in.warn(key, "has no effect: log.file is empty");
  }
}

}  // namespace

void cross_check(const Document& document, const schema::Node& tree, schema::Problems& problems) {
  if (tree.kind != schema::Node::Kind::kMapping) return;  // told already
  const Context in(document, tree, problems);
  std::set<std::string> used;
  const auto applied = [](const auto& entry) { return entry.second.apply.nginx.has_value(); };
  const auto unknown_key = [](const schema::Problem& problem) { return problem.path.empty(); };
  const bool renamed = std::any_of(problems.list().begin(), problems.list().end(), unknown_key);
  if (!renamed && !in.written("listeners") && in.clean("upstreams") &&
      std::none_of(document.upstreams.begin(), document.upstreams.end(), applied)) {
    in.error("", "has no \"listeners\", and no upstream has apply: there is nothing to do");
  }
  check_addresses(in);
  check_routes(in, used);
  check_upstreams(in, used);
  check_pool(in);
  check_contradictions(in);
  check_log(in);
}

}  // namespace steelyard::config
