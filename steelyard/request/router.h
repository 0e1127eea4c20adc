// Router: which route a request takes, by host and path. Immutable; built with a Config.
//
// Host: exact beats `*.suffix` (the longer suffix first; it needs at least one more label) beats
// any; without regard to case, port and a trailing dot. Path: the longest prefix on segment
// boundaries, query left out; `/api/` is `/api`. A host whose routes match no path hands over to
// the next less exact host. Of two routes with the same host and path the first wins (the
// configuration refuses them). Paths are compared as sent: percent-encoding and dot segments are
// not resolved.
//
// Cost: a hash of the host and a few comparisons; no allocation. Threads: any, read only.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "steelyard/request/options.h"

namespace steelyard::request {

class Router {
 public:
  Router() = default;
  explicit Router(std::span<const RouteOptions> routes);

  // Index into the routes given, or nothing. `path` may carry a query.
  [[nodiscard]] std::optional<std::uint32_t> match(std::string_view host,
                                                   std::string_view path) const noexcept;

 private:
  struct Prefix {
    std::string path;  // without a trailing slash; empty: every path
    std::uint32_t route;
  };
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const noexcept {
      return std::hash<std::string_view>{}(text);
    }
  };
  using Prefixes = std::vector<Prefix>;  // longest first
  using Hosts = std::unordered_map<std::string, Prefixes, Hash, std::equal_to<>>;

  static std::optional<std::uint32_t> longest(const Prefixes& prefixes,
                                              std::string_view path) noexcept;
  static void add(Prefixes& prefixes, std::string_view path, std::uint32_t route);

  Hosts exact_;
  Hosts below_;  // by suffix without "*."
  Prefixes any_;
};

}  // namespace steelyard::request
