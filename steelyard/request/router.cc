#include "steelyard/request/router.h"

#include <algorithm>
#include <array>

namespace steelyard::request {
namespace {

constexpr std::size_t kLongestHost = 255;  // RFC 1035: longer is no name

// The host without port and trailing dot; brackets of an IPv6 address stay.
std::string_view bare(std::string_view host) noexcept {
  const auto bracket = host.rfind(']');
  const auto colon = host.rfind(':');
  if (colon != std::string_view::npos && (bracket == std::string_view::npos || colon > bracket)) {
    host = host.substr(0, colon);
  }
  if (!host.empty() && host.back() == '.') host.remove_suffix(1);
  return host;
}

constexpr char lower(char c) noexcept {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

std::string lowered(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), lower);
  return out;
}

std::string host_of(const MatchOptions& match) {
  std::string host = lowered(bare(match.host));
  return host == "*" ? std::string() : host;
}

std::string_view prefix_of(const MatchOptions& match) noexcept {
  std::string_view path = match.path;
  while (!path.empty() && path.back() == '/') path.remove_suffix(1);
  return path;
}

bool same_place(const MatchOptions& a, const MatchOptions& b) {
  if (host_of(a) != host_of(b) || a.path_exact != b.path_exact || a.path_regex != b.path_regex) {
    return false;
  }
  const bool prefix = a.path_exact.empty() && a.path_regex.empty();
  return !prefix || prefix_of(a) == prefix_of(b);
}

}  // namespace

Router::Router(std::span<const RouteOptions> routes, MakePattern make_pattern) {
  for (std::uint32_t i = 0; i < routes.size(); ++i) {
    const std::string host = host_of(routes[i].match);
    if (host.empty()) {
      add(any_, routes[i], i, make_pattern);
    } else if (host.starts_with("*.")) {
      add(below_[host.substr(2)], routes[i], i, make_pattern);
    } else {
      add(exact_[host], routes[i], i, make_pattern);
    }
  }
}

Router::Candidates& Router::candidates(Paths& paths, const MatchOptions& match, MakePattern make) {
  if (!match.path_exact.empty()) return paths.exact[match.path_exact];
  if (!match.path_regex.empty()) {
    for (auto& one : paths.expressions) {
      if (one.text == match.path_regex) return one.routes;
    }
    Expression made{match.path_regex, nullptr, {}};
    if (make != nullptr) {
      if (auto pattern = make(match.path_regex)) made.pattern = std::move(*pattern);
    }
    paths.expressions.push_back(std::move(made));
    return paths.expressions.back().routes;
  }
  const auto path = prefix_of(match);
  auto at = std::find_if(paths.prefixes.begin(), paths.prefixes.end(), [&](const Prefix& prefix) {
    return prefix.path.size() < path.size() || prefix.path == path;
  });
  if (at == paths.prefixes.end() || at->path != path) {
    at = paths.prefixes.insert(at, Prefix{std::string(path), {}});
  }
  return at->routes;
}

void Router::add(Paths& paths, const RouteOptions& options, std::uint32_t route, MakePattern make) {
  Candidate made{route, kNone, count_conditions(options.match)};
  if (made.count > 0) {
    made.conditions = static_cast<std::uint32_t>(conditions_.size());
    conditions_.emplace_back(options.match, make);
  }
  Candidates& routes = candidates(paths, options.match, make);
  const auto at = std::find_if(routes.begin(), routes.end(),
                               [&](const Candidate& other) { return other.count < made.count; });
  routes.insert(at, made);
}

std::optional<std::uint32_t> Router::first(const Candidates& routes, const Target& target,
                                           const Facts& facts) const noexcept {
  for (const Candidate& one : routes) {
    if (one.conditions == kNone || conditions_[one.conditions].hold(target.method, facts)) {
      return one.route;
    }
  }
  return std::nullopt;
}

std::optional<std::uint32_t> Router::among(const Paths& paths, std::string_view path,
                                           const Target& target,
                                           const Facts& facts) const noexcept {
  if (!paths.exact.empty()) {
    if (const auto at = paths.exact.find(path); at != paths.exact.end()) {
      if (const auto route = first(at->second, target, facts)) return route;
    }
  }
  for (const Expression& one : paths.expressions) {
    if (one.pattern == nullptr || !one.pattern->matches(path)) continue;
    if (const auto route = first(one.routes, target, facts)) return route;
  }
  for (const Prefix& prefix : paths.prefixes) {
    if (!path.starts_with(prefix.path)) continue;
    if (!prefix.path.empty() && path.size() != prefix.path.size() &&
        path[prefix.path.size()] != '/') {
      continue;
    }
    if (const auto route = first(prefix.routes, target, facts)) return route;
  }
  return std::nullopt;
}

std::optional<std::uint32_t> Router::match(const Target& target,
                                           const Facts& facts) const noexcept {
  const auto path = target.path.substr(0, target.path.find('?'));
  if (exact_.empty() && below_.empty()) return among(any_, path, target, facts);
  const auto host = bare(target.host);
  if (!host.empty() && host.size() <= kLongestHost) {
    std::array<char, kLongestHost> buffer;
    std::transform(host.begin(), host.end(), buffer.begin(), lower);
    const std::string_view name(buffer.data(), host.size());
    if (const auto at = exact_.find(name); at != exact_.end()) {
      if (const auto route = among(at->second, path, target, facts)) return route;
    }
    for (auto dot = name.find('.'); !below_.empty() && dot != std::string_view::npos;
         dot = name.find('.', dot + 1)) {
      if (dot == 0) continue;
      if (const auto at = below_.find(name.substr(dot + 1)); at != below_.end()) {
        if (const auto route = among(at->second, path, target, facts)) return route;
      }
    }
  }
  return among(any_, path, target, facts);
}

std::optional<std::size_t> covered_by(std::span<const RouteOptions> routes, std::size_t at) {
  const auto& route = routes[at].match;
  const auto count = count_conditions(route);
  for (std::size_t i = 0; i < routes.size(); ++i) {
    const auto& other = routes[i].match;
    const auto others = count_conditions(other);
    const bool before = others > count || (others == count && i < at);
    if (i != at && before && same_place(route, other) && implies(route, other)) return i;
  }
  return std::nullopt;
}

}  // namespace steelyard::request
