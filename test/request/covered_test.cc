#include "steelyard/request/covered.h"

#include <algorithm>
#include <array>
#include <gtest/gtest.h>
#include <string>

#include "steelyard/base/rng.h"

namespace steelyard::request {
namespace {

MatchOptions with(std::initializer_list<std::pair<std::string, ValueOptions>> headers) {
  MatchOptions out;
  out.headers.entries.assign(headers);
  return out;
}

std::vector<RouteOptions> routes_with(std::vector<MatchOptions> matches) {
  std::vector<RouteOptions> out;
  for (auto& match : matches) {
    out.emplace_back().match = std::move(match);
    out.back().upstream = "u" + std::to_string(out.size() - 1);
  }
  return out;
}

TEST(CoveredBy, TellsWhichRoutesAreNeverTaken) {
  struct Row {
    std::string_view name;
    MatchOptions first, second;
    bool covered;
  };
  const auto path = [](std::string prefix) {
    MatchOptions out;
    out.path = std::move(prefix);
    return out;
  };
  const auto clients = [](std::string text) {
    MatchOptions out;
    out.clients = {std::move(text)};
    return out;
  };
  const auto methods = [](std::vector<std::string> names) {
    MatchOptions out;
    out.methods = std::move(names);
    return out;
  };
  MatchOptions upper, expression;
  upper.host = "API.example.com.";
  expression.path_regex = "/.*";
  MatchOptions host;
  host.host = "api.example.com";
  const std::vector<Row> rows{
      {"the same", {}, {}, true},
      {"a slash at the end", path("/a"), path("/a/"), true},
      {"another path", path("/a"), path("/b"), false},
      {"a host in another case", host, upper, true},
      {"another host", {}, host, false},
      {"a condition more", {}, with({{"A", {}}}), false},
      {"the same condition", with({{"A", {.exact = "1"}}}), with({{"a", {.exact = "1"}}}), true},
      {"another value", with({{"A", {.exact = "1"}}}), with({{"A", {.exact = "2"}}}), false},
      {"any value first", with({{"A", {}}}), with({{"A", {.exact = "2"}}}), true},
      {"any value last", with({{"A", {.exact = "2"}}}), with({{"A", {}}}), false},
      {"a prefix first", with({{"A", {.prefix = "v"}}}), with({{"A", {.exact = "v2"}}}), true},
      {"the wider network first", clients("10.0.0.0/8"), clients("10.1.0.0/16"), true},
      {"the wider network last", clients("10.1.0.0/16"), clients("10.0.0.0/8"), false},
      {"one address in a network", clients("10.0.0.0/8"), clients("10.1.2.3"), true},
      {"more methods first", methods({"GET", "PUT"}), methods({"PUT"}), true},
      {"other methods", methods({"GET"}), methods({"PUT"}), false},
      {"the same expression", expression, expression, true},
      {"a prefix behind an expression", expression, {}, false},
  };
  for (const Row& row : rows) {
    const auto covered = covered_by(routes_with({row.first, row.second}));
    EXPECT_EQ(covered[1], row.covered ? std::optional<std::size_t>(0) : std::nullopt) << row.name;
    EXPECT_EQ(covered[0], std::nullopt) << row.name;
  }
}

// What two alone say of each other holds among many: no comparison that matters is left out.
TEST(CoveredBy, AmongManyEachHasTheFirstThatCoversItAlone) {
  const std::array<ValueOptions, 7> values{{{},
                                            {.exact = "v1"},
                                            {.exact = "v2"},
                                            {.prefix = "v"},
                                            {.prefix = "v1"},
                                            {.regex = "v."},
                                            {.absent = true}}};
  base::Rng rng(7);
  std::vector<MatchOptions> all;
  for (int i = 0; i < 250; ++i) {
    MatchOptions& match = all.emplace_back();
    if (rng.below(4) == 0) match.path = "/a";
    const auto some = [&](schema::Map<ValueOptions>& map, std::vector<std::string> names) {
      for (auto& name : names) {
        if (rng.below(4) == 0) map.entries.emplace_back(name, values[rng.below(values.size())]);
      }
    };
    some(match.headers, {"A", "b"});
    some(match.cookies, {"a"});
    some(match.query, {"a"});
    for (const char* const method : {"GET", "PUT", "POST"}) {
      if (rng.below(4) == 0) match.methods.emplace_back(method);
    }
    for (const char* const client : {"10.0.0.0/8", "10.1.0.0/16", "10.1.2.3", "::1"}) {
      if (rng.below(10) == 0) match.clients.emplace_back(client);
    }
  }
  const auto together = covered_by(routes_with(all));
  std::size_t covered = 0;
  for (std::size_t at = 0; at < all.size(); ++at) {
    std::optional<std::size_t> first;
    for (std::size_t other = 0; other < all.size() && !first; ++other) {
      if (other == at) continue;
      const auto two =
          covered_by(routes_with({all[std::min(other, at)], all[std::max(other, at)]}));
      if (two[other < at ? 1 : 0]) first = other;
    }
    EXPECT_EQ(together[at], first) << at;
    covered += first ? 1 : 0;
  }
  EXPECT_GT(covered, 50U);
  EXPECT_LT(covered, 245U);
}

// Each with each would be 10^9 comparisons a row.
TEST(CoveredBy, ManyRoutesAreToldInAPassOverThem) {
  struct Row {
    std::string_view name;
    void (*make)(MatchOptions&, int);
  };
  const std::array rows{
      Row{"paths", [](MatchOptions& m, int i) { m.path = "/" + std::to_string(i); }},
      Row{"exact paths", [](MatchOptions& m, int i) { m.path_exact = "/" + std::to_string(i); }},
      Row{"hosts", [](MatchOptions& m, int i) { m.host = "h" + std::to_string(i); }},
      Row{"one header, values",
          [](MatchOptions& m, int i) {
            m.headers.entries.emplace_back("A", ValueOptions{.exact = std::to_string(i)});
          }},
      Row{"methods", [](MatchOptions& m, int i) { m.methods = {"GET", std::to_string(i)}; }},
  };
  constexpr int kMany = 30'000;
  for (const Row& row : rows) {
    std::vector<RouteOptions> routes(kMany);
    for (int i = 0; i < kMany; ++i) row.make(routes[static_cast<std::size_t>(i)].match, i);
    routes.push_back(routes[kMany / 2]);
    const auto covered = covered_by(routes);
    EXPECT_EQ(covered.back(), std::optional<std::size_t>(kMany / 2)) << row.name;
    EXPECT_EQ(std::count(covered.begin(), covered.end(), std::nullopt), kMany) << row.name;
  }
}

}  // namespace
}  // namespace steelyard::request
