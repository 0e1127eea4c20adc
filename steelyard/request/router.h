// Router: which route a request takes. Immutable; built with a Config.
//
// The first of these, in order, whose conditions hold:
//   1. host: the exact name, then `*.suffix` (the longer suffix first; it needs at least one more
//      label), then any; without regard to case, port and a trailing dot
//   2. path: the exact one, then regular expressions as written, then prefixes on segment
//      boundaries, the longest first (`/api/` is `/api`); the query is left out
//   3. the number of further conditions (method, headers, cookies, query, client), most first
//   4. the order written
// A host whose routes do not match hands over to the next less exact host. Paths are compared as
// sent: percent-encoding and dot segments are not resolved.
//
// Cost: without hosts in the configuration none for the host, else a hash of it; a few comparisons,
// and with many prefixes a hash for each slash of the path within the longest of them;
// facts are asked only by routes with conditions; no allocation. Threads: any, read only.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "steelyard/request/conditions.h"
#include "steelyard/request/facts.h"
#include "steelyard/request/options.h"

namespace steelyard::request {

struct Target {
  std::string_view host;
  std::string_view path;  // may carry a query
  std::string_view method;
};

class Router {
 public:
  Router() = default;
  // Without `make_pattern` routes with regular expressions never match.
  explicit Router(std::span<const RouteOptions> routes, MakePattern make_pattern = nullptr);

  // Index into the routes given, or nothing.
  [[nodiscard]] std::optional<std::uint32_t> match(const Target& target,
                                                   const Facts& facts) const noexcept;

 private:
  static constexpr std::uint32_t kNone = ~0U;
  struct Candidate {
    std::uint32_t route;
    std::uint32_t conditions;  // in conditions_; kNone: it has none
    std::size_t count;
  };
  using Candidates = std::vector<Candidate>;  // in order
  struct Prefix {
    std::string path;  // without a trailing slash; empty: every path
    Candidates routes;
  };
  struct Expression {
    std::unique_ptr<const Pattern> pattern;
    Candidates routes;
  };
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const noexcept {
      return std::hash<std::string_view>{}(text);
    }
  };
  template <typename T>
  using ByName = std::unordered_map<std::string, T, Hash, std::equal_to<>>;
  struct Paths {
    ByName<Candidates> exact;
    std::vector<Expression> expressions;  // as written
    std::vector<Prefix> prefixes;         // longest first
    ByName<std::uint32_t> by_prefix;      // places in `prefixes`, where they are many
  };
  struct Making;
  static constexpr std::size_t kFewPrefixes = 8;  // a walk is faster

  void add(Paths& paths, const RouteOptions& options, std::uint32_t route, Making& making);
  static Candidates& candidates(Paths& paths, const MatchOptions& match, Making& making);
  static void settle(Paths& paths);
  [[nodiscard]] std::optional<std::uint32_t> first(const Candidates& routes, const Target& target,
                                                   const Facts& facts) const noexcept;
  [[nodiscard]] std::optional<std::uint32_t> among(const Paths& paths, std::string_view path,
                                                   const Target& target,
                                                   const Facts& facts) const noexcept;
  [[nodiscard]] std::optional<std::uint32_t> below(const Paths& paths, std::string_view path,
                                                   const Target& target,
                                                   const Facts& facts) const noexcept;

  ByName<Paths> exact_;
  ByName<Paths> below_;  // by suffix without "*."
  Paths any_;
  std::vector<Conditions> conditions_;
};

}  // namespace steelyard::request
