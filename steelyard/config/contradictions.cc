// Options that are fine alone and make no sense together. Warnings, since the balancer can run with
// them; each says what happens, so that one knows what to write instead.
#include "steelyard/config/contradictions.h"

#include <array>

#include "steelyard/base/nearest.h"
#include "steelyard/schema/scalar.h"

namespace steelyard::config {
namespace {

// Nodes of the upstream that has most of them, among those that a route leads to; 0: not known.
std::size_t most_nodes(const Context& in, const request::RouteOptions& route) {
  std::size_t most = 0;
  const auto look = [&](const std::string& name) {
    if (const auto* upstream = in.upstream(name); upstream != nullptr) {
      most = std::max(most, upstream->nodes.size());
    }
  };
  look(route.upstream);
  for (const auto& part : route.split) look(part.upstream);
  return most;
}

// A time that comes only when something else has ended what it is for.
void check_late(const Context& in, const std::string& path, const request::RouteOptions& route) {
  const auto& timeouts = route.timeouts;
  const auto fine = [&](const std::string& at) {
    return in.written(path + at) && in.clean(path + at) && in.clean(path + ".timeouts");
  };
  const auto late = [&](const std::string& at, base::Duration value, base::Duration end,
                        const std::string& by) {
    if (timeouts.total && value >= *timeouts.total && fine(at)) {
      in.warn(path + at, "is not shorter than timeouts.total, so it never takes effect");
    } else if (value >= end && fine(at)) {
      in.warn(path + at, "is not shorter than " + by + " (" + schema::duration_text(end) +
                             "), at which the attempt fails: it never takes effect");
    }
  };
  if (const auto& time = route.retry.timeout) {
    late(".retry.timeout", *time, timeouts.connect + timeouts.head,
         "timeouts.connect and timeouts.head together");
  }
  if (!route.hedge) return;
  // Both begin anew with the wait for the head, so the longer of the two is what counts.
  const auto end = std::max(timeouts.connect, timeouts.head);
  const std::string by = timeouts.head < timeouts.connect ? "timeouts.connect" : "timeouts.head";
  if (const auto& after = route.hedge->after) {
    late(".hedge.after", *after, end, by);
    if (in.written(path + ".hedge.least"))
      in.warn(path + ".hedge.least", "has no effect: hedge.after is set, nothing is measured");
  } else {
    late(".hedge.least", route.hedge->least, end, by);
  }
}

void check_tell(const Context& in, const std::string& path,
                const request::TimeoutOptions& timeouts) {
  if (timeouts.tell && !timeouts.total && in.clean(path))
    in.warn(path + ".tell", "has no effect: there is no total of which time could be left");
}

bool is_h2c(std::string_view protocol) {
  return schema::same_word(protocol.substr(0, protocol.find('/')), "h2c");
}

void check_upgrades(const Context& in, const std::string& path,
                    const std::vector<std::string>& upgrades) {
  static constexpr std::array<std::string_view, 1> kKnown{"websocket"};
  for (const auto& protocol : upgrades) {
    if (is_h2c(protocol)) {
      in.warn(path, "names " + quoted(protocol) +
                        ": requests inside such a connection reach the node past every route; "
                        "leave it out");
      continue;
    }
    if (schema::same_word(protocol, kKnown.front())) continue;
    if (const auto near = base::nearest(protocol, kKnown); !near.empty()) {
      in.warn(path, "names " + quoted(protocol) + ", did you mean " + quoted(near) + "?");
    }
  }
}

void check_route(const Context& in, const std::string& path, const request::RouteOptions& route) {
  check_late(in, path, route);
  check_tell(in, path + ".timeouts", route.timeouts);
  if (in.clean(path + ".upgrades")) check_upgrades(in, path + ".upgrades", route.upgrades);
  const auto retry = path + ".retry";
  if (route.retry.attempts == 0) {
    for (const std::string key : {".statuses", ".timeout"}) {
      if (in.written(retry + key)) in.warn(retry + key, "has no effect: retry.attempts is 0");
    }
  }
  if (most_nodes(in, route) != 1) return;
  const std::string alone = "has no effect: there is one node, and none is asked twice";
  if (in.written(retry) && route.retry.attempts > 0) in.warn(retry, alone);
  if (route.hedge) in.warn(path + ".hedge", alone);
}

void check_limits(const Context& in, const std::string& path, const request::UpstreamRules& rules) {
  const auto& limits = rules.limits;
  if (limits.concurrency != request::Concurrency::kStatic || !in.clean(path + ".limits")) return;
  if (in.written(path + ".limits.min_in_flight")) {
    in.warn(path + ".limits.min_in_flight", "has no effect: limits.concurrency is static");
  }
  if (limits.max_in_flight == 0 && rules.queue.size > 0 && in.written(path + ".queue")) {
    in.warn(path + ".queue",
            "has hardly an effect: without limits.max_in_flight a node is full only on trial");
  }
}

void check_rules(const Context& in, const std::string& path, const request::UpstreamRules& rules) {
  check_limits(in, path, rules);
  const auto& budget = rules.retry_budget;
  if (budget && budget->ratio == 0 && budget->floor == 0 && in.clean(path + ".retry_budget")) {
    in.warn(path + ".retry_budget", "is 0 with a floor of 0: there is no retry and no hedge");
  }
}

void check_clients(const Context& in) {
  const auto& proxy = in.document.proxy;
  const auto& clients = proxy.clients;
  const std::string line = "clients.max_line";
  const bool sized = in.clean(line) && in.clean("clients.max_head");
  if (clients.max_line > clients.max_head && sized) {
    if (in.written(line)) {
      in.warn(line, "is above clients.max_head, which the first line counts for too");
    } else {
      in.warn("clients.max_head", "is below clients.max_line: no line may be that long");
    }
  }
  const auto memory = proxy.overload.memory.count;
  const auto share = memory / std::max(1U, proxy.workers);
  if (memory != 0 && share < clients.max_head.count && sized && in.clean("overload.memory") &&
      in.clean("workers")) {
    in.warn("overload.memory",
            "leaves a worker less than one head may have (clients.max_head): requests would be "
            "refused before they are whole");
  }
  if (proxy.drain.idle > proxy.drain.limit && in.written("drain.idle") && in.clean("drain")) {
    in.warn("drain.idle", "is longer than drain.limit, at which all connections are closed");
  }
}

}  // namespace

void check_contradictions(const Context& in) {
  for (std::size_t i = 0; i < in.document.listeners.size(); ++i) {
    const auto& routes = in.document.listeners[i].routes;
    const auto all = schema::join_index("listeners", i) + ".routes";
    for (std::size_t j = 0; j < routes.size(); ++j) {
      check_route(in, schema::join_index(all, j), routes[j]);
    }
  }
  for (const auto& [name, upstream] : in.document.upstreams) {
    check_rules(in, schema::join_path("upstreams", name), upstream.rules);
  }
  check_clients(in);
}

}  // namespace steelyard::config
