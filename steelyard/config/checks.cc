#include "steelyard/config/checks.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "steelyard/weigh/registry.h"

namespace steelyard::config {
namespace {

using schema::Node;
using schema::Problems;

std::string quoted(std::string_view text) { return "\"" + std::string(text) + "\""; }

// The document with its tree: reports at the place of a path.
struct Context {
  const Document& document;
  const Node& tree;
  Problems& problems;

  void error(const std::string& path, std::string text) const {
    problems.error(tree.deepest(path).place, path, std::move(text));
  }
  void warn(const std::string& path, std::string text) const {
    problems.warn(tree.deepest(path).place, path, std::move(text));
  }
  [[nodiscard]] bool written(const std::string& path) const { return tree.at(path) != nullptr; }
  // Written, and nothing of it was left out as refused.
  [[nodiscard]] bool complete(const std::string& path) const {
    const Node* node = tree.at(path);
    return node != nullptr && !node->refused;
  }
  // No error so far at or below a path: only then does a follow-up say something new.
  [[nodiscard]] bool clean(std::string_view path) const {
    return std::none_of(
        problems.list().begin(), problems.list().end(), [&](const schema::Problem& problem) {
          const std::string_view at = problem.path;
          if (problem.warning || !at.starts_with(path)) return false;
          return at.size() == path.size() || at[path.size()] == '.' || at[path.size()] == '[';
        });
  }
  [[nodiscard]] std::string where(const std::string& path) const {
    const auto place = tree.deepest(path).place;
    return std::to_string(place.line) + ":" + std::to_string(place.column);
  }
};

bool is_any(const base::Address& address) {
  const auto& ip = address.ip();
  return std::all_of(ip.begin(), ip.end(), [](std::uint8_t byte) { return byte == 0; });
}

// Both cannot be bound: the same address, or one of them is every address of that port.
bool collide(const base::Address& a, const base::Address& b) {
  if (!a.valid() || !b.valid() || a.port() != b.port() || a.port() == 0 || a.family() != b.family())
    return false;
  return a == b || is_any(a) || is_any(b);
}

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
    if (collide(listeners[i].address, in.document.admin.address)) {
      in.error(in.written("admin.address") ? "admin.address" : path,
               in.written("admin.address")
                   ? "is taken already by " + path + " (" + in.where(path) + ")"
                   : "is the address of the admin API: change it or admin.address");
    }
  }
}

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return out;
}

// Host and path as the router compares them.
std::string route_key(const request::MatchOptions& match) {
  std::string host = lower(match.host);
  if (host.ends_with('.')) host.pop_back();
  std::string path = match.path;
  while (path.ends_with('/')) path.pop_back();
  return host + path;
}

void check_host(const Context& in, const std::string& path, const std::string& host) {
  if (host.empty()) return;
  const std::string name = host.starts_with("*.") ? host.substr(2) : host;
  if (name.starts_with('[')) return;  // an IPv6 address as a client would send it
  if (name.find(':') != name.npos)
    return in.error(path, "is " + quoted(host) + ", must be a name without a port");
  if (name.find('/') != name.npos) {
    return in.error(
        path, "is " + quoted(host) + ", must be a name alone: the path has its own key, \"path\"");
  }
  if (name.empty() || name.find('*') != name.npos) {
    return in.error(
        path, "is " + quoted(host) + ", a * may only stand for the front labels, as *.example.com");
  }
  const auto odd = std::find_if(name.begin(), name.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte <= 0x20 || byte >= 0x7f;
  });
  if (odd != name.end())
    in.error(path, "is " + quoted(host) + ", must be letters, digits, dots and dashes");
}

void check_path(const Context& in, const std::string& path, const std::string& value) {
  if (value.find_first_of("?#") != value.npos) {
    in.error(path, "is " + quoted(value) + ", must be a path without a query: nothing would match");
  } else if (value.find('*') != value.npos) {
    in.warn(path,
            "is " + quoted(value) + ", a * in a path has no meaning: paths are prefixes already");
  }
}

// A limit that can never be reached since the total ends first.
void check_timeouts(const Context& in, const std::string& path,
                    const request::TimeoutOptions& timeouts) {
  if (!timeouts.total) return;
  for (const auto& [key, value] :
       {std::pair{"connect", timeouts.connect}, {"head", timeouts.head}, {"idle", timeouts.idle}}) {
    const auto at = schema::join_path(path, key);
    if (value > *timeouts.total && in.written(at)) {
      in.warn(at, "is longer than total, so it never takes effect");
    }
  }
}

void check_routes(const Context& in, std::set<std::string>& used) {
  std::vector<std::string_view> known;
  for (const auto& entry : in.document.upstreams) known.push_back(entry.first);
  for (std::size_t i = 0; i < in.document.listeners.size(); ++i) {
    std::map<std::string, std::string> seen;
    const auto& routes = in.document.listeners[i].routes;
    for (std::size_t j = 0; j < routes.size(); ++j) {
      const auto path = schema::join_index(schema::join_index("listeners", i) + ".routes", j);
      const auto& route = routes[j];
      check_host(in, path + ".match.host", route.match.host);
      check_path(in, path + ".match.path", route.match.path);
      check_timeouts(in, path + ".timeouts", route.timeouts);
      used.insert(route.upstream);
      if (!route.upstream.empty() && in.complete("upstreams") &&
          in.document.upstreams.find(route.upstream) == nullptr) {
        in.error(path + ".upstream", "there is no upstream " + quoted(route.upstream) +
                                         schema::suggestion(route.upstream, known));
      }
      const auto [other, first] = seen.emplace(route_key(route.match), path);
      if (!first) {
        in.error(path, "matches the same host and path as " + other->second + " (" +
                           in.where(other->second) + "): it would never be taken");
      }
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

// Keys that have no meaning beside others: said, since they would be ignored in silence.
void check_weigh(const Context& in, const std::string& path, const UpstreamOptions& upstream) {
  const auto& controller = upstream.weigh.controller.name;
  const auto* kind = weigh::find(controller);
  const auto at = path + ".weigh.controller";
  if (kind != nullptr && !kind->needs.empty() && !upstream.sense.score) {
    in.error(at, "is " + controller + ", which needs " + std::string(kind->needs) +
                     ": add sense: { score: {} }, which collects it");
  }
  if (controller != "static") return;
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
  if (score.timeout > score.interval && in.written(at)) {
    in.warn(at, "is longer than interval: the next collection waits for the last");
  }
}

void check_upstreams(const Context& in, const std::set<std::string>& used) {
  std::map<std::string, std::string> files;
  for (const auto& [name, upstream] : in.document.upstreams) {
    const auto path = schema::join_path("upstreams", name);
    check_nodes(in, path + ".nodes", upstream);
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

}  // namespace

void cross_check(const Document& document, const Node& tree, Problems& problems) {
  if (tree.kind != Node::Kind::kMapping) return;  // told already
  const Context in{document, tree, problems};
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
}

}  // namespace steelyard::config
