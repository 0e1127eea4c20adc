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

}  // namespace

Router::Router(std::span<const RouteOptions> routes) {
  for (std::uint32_t i = 0; i < routes.size(); ++i) {
    const auto& match = routes[i].match;
    const std::string host = lowered(bare(match.host));
    if (host.empty() || host == "*") {
      add(any_, match.path, i);
    } else if (host.starts_with("*.")) {
      add(below_[host.substr(2)], match.path, i);
    } else {
      add(exact_[host], match.path, i);
    }
  }
}

void Router::add(Prefixes& prefixes, std::string_view path, std::uint32_t route) {
  while (!path.empty() && path.back() == '/') path.remove_suffix(1);
  const auto at = std::find_if(prefixes.begin(), prefixes.end(),
                               [&](const Prefix& p) { return p.path.size() < path.size(); });
  prefixes.insert(at, Prefix{std::string(path), route});
}

std::optional<std::uint32_t> Router::longest(const Prefixes& prefixes,
                                             std::string_view path) noexcept {
  for (const auto& prefix : prefixes) {
    if (!path.starts_with(prefix.path)) continue;
    if (prefix.path.empty() || path.size() == prefix.path.size() ||
        path[prefix.path.size()] == '/') {
      return prefix.route;
    }
  }
  return std::nullopt;
}

std::optional<std::uint32_t> Router::match(std::string_view host,
                                           std::string_view path) const noexcept {
  path = path.substr(0, path.find('?'));
  host = bare(host);
  if ((!exact_.empty() || !below_.empty()) && !host.empty() && host.size() <= kLongestHost) {
    std::array<char, kLongestHost> buffer;
    std::transform(host.begin(), host.end(), buffer.begin(), lower);
    const std::string_view name(buffer.data(), host.size());
    if (const auto at = exact_.find(name); at != exact_.end()) {
      if (const auto route = longest(at->second, path)) return route;
    }
    for (auto dot = name.find('.'); !below_.empty() && dot != std::string_view::npos;
         dot = name.find('.', dot + 1)) {
      if (dot == 0) continue;
      if (const auto at = below_.find(name.substr(dot + 1)); at != below_.end()) {
        if (const auto route = longest(at->second, path)) return route;
      }
    }
  }
  return longest(any_, path);
}

}  // namespace steelyard::request
