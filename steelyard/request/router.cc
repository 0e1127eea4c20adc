#include "steelyard/request/router.h"

#include <algorithm>
#include <array>

#include "steelyard/request/place.h"

namespace steelyard::request {
namespace {

constexpr std::size_t kLongestHost = 255;  // RFC 1035: longer is no name

}  // namespace

// Where the Candidates of a text are while the lists grow. Only for a Router in the making.
struct Router::Making {
  MakePattern make;
  std::unordered_map<const Paths*, ByName<std::size_t>> expressions, prefixes;
};

Router::Router(std::span<const RouteOptions> routes, MakePattern make_pattern) {
  Making making{make_pattern, {}, {}};
  for (std::uint32_t i = 0; i < routes.size(); ++i) {
    const std::string host = host_of(routes[i].match);
    if (host.empty()) {
      add(any_, routes[i], i, making);
    } else if (host.starts_with("*.")) {
      add(below_[host.substr(2)], routes[i], i, making);
    } else {
      add(exact_[host], routes[i], i, making);
    }
  }
  settle(any_);
  for (auto& [host, paths] : exact_) settle(paths);
  for (auto& [host, paths] : below_) settle(paths);
}

void Router::settle(Paths& paths) {
  auto& all = paths.prefixes;
  std::stable_sort(all.begin(), all.end(),
                   [](const Prefix& a, const Prefix& b) { return a.path.size() > b.path.size(); });
  if (all.size() <= kFewPrefixes) return;
  for (std::uint32_t i = 0; i < all.size(); ++i) paths.by_prefix.emplace(all[i].path, i);
}

Router::Candidates& Router::candidates(Paths& paths, const MatchOptions& match, Making& making) {
  if (!match.path_exact.empty()) return paths.exact[match.path_exact];
  if (!match.path_regex.empty()) {
    const auto [at, fresh] =
        making.expressions[&paths].emplace(match.path_regex, paths.expressions.size());
    if (!fresh) return paths.expressions[at->second].routes;
    Expression made{nullptr, {}};
    if (making.make != nullptr) {
      if (auto pattern = making.make(match.path_regex)) made.pattern = std::move(*pattern);
    }
    paths.expressions.push_back(std::move(made));
    return paths.expressions.back().routes;
  }
  const std::string path(prefix_of(match));
  const auto [at, fresh] = making.prefixes[&paths].emplace(path, paths.prefixes.size());
  if (fresh) paths.prefixes.push_back({path, {}});
  return paths.prefixes[at->second].routes;
}

void Router::add(Paths& paths, const RouteOptions& options, std::uint32_t route, Making& making) {
  Candidate made{route, kNone, count_conditions(options.match)};
  if (made.count > 0) {
    made.conditions = static_cast<std::uint32_t>(conditions_.size());
    conditions_.emplace_back(options.match, making.make);
  }
  Candidates& routes = candidates(paths, options.match, making);
  const auto at =
      std::upper_bound(routes.begin(), routes.end(), made,
                       [](const Candidate& a, const Candidate& b) { return a.count > b.count; });
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
  if (!paths.by_prefix.empty()) return below(paths, path, target, facts);
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

// Among many prefixes: a look-up for each start of the path that ends before a slash.
std::optional<std::uint32_t> Router::below(const Paths& paths, std::string_view path,
                                           const Target& target,
                                           const Facts& facts) const noexcept {
  const auto longest = paths.prefixes.front().path.size();
  // None is longer: the first start to look up is the whole path, or ends at the last slash that
  // leaves no more than the longest.
  auto size = path.size() <= longest ? path.size() : path.rfind('/', longest);
  for (; size != 0 && size != std::string_view::npos; size = path.rfind('/', size - 1)) {
    const auto at = paths.by_prefix.find(path.substr(0, size));
    if (at == paths.by_prefix.end()) continue;
    if (const auto route = first(paths.prefixes[at->second].routes, target, facts)) return route;
  }
  const auto every = paths.by_prefix.find(std::string_view());
  return every == paths.by_prefix.end()
             ? std::nullopt
             : first(paths.prefixes[every->second].routes, target, facts);
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

}  // namespace steelyard::request
