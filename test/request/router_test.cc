#include "steelyard/request/router.h"

#include <array>
#include <gtest/gtest.h>

namespace steelyard::request {
namespace {

std::vector<RouteOptions> routes() {
  const auto route = [](std::string host, std::string path, std::string upstream) {
    RouteOptions made;
    made.match = {std::move(host), std::move(path)};
    made.upstream = std::move(upstream);
    return made;
  };
  return {route("", "/", "any"),
          route("", "/static/", "any_static"),
          route("api.example.com", "/", "api"),
          route("API.Example.com", "/v1", "api_v1"),
          route("api.example.com", "/v1/users", "api_users"),
          route("*.example.com", "/", "below"),
          route("*.deep.example.com", "/only", "deep"),
          route("[::1]", "/", "six"),
          route("bare.example.com", "/x", "bare_x")};
}

TEST(Router, TakesTheMostExactHostAndTheLongestPath) {
  struct Row {
    std::string_view name, host, path, upstream;
  };
  constexpr std::array rows{
      Row{"any host", "other.test", "/", "any"},
      Row{"no host", "", "/x", "any"},
      Row{"exact host", "api.example.com", "/", "api"},
      Row{"case and port do not matter", "API.EXAMPLE.COM:8080", "/v1", "api_v1"},
      Row{"a trailing dot does not matter", "api.example.com.", "/v1", "api_v1"},
      Row{"a prefix ends at a segment", "api.example.com", "/v1x", "api"},
      Row{"a segment below", "api.example.com", "/v1/x", "api_v1"},
      Row{"the longest prefix", "api.example.com", "/v1/users/7", "api_users"},
      Row{"the query is not part of the path", "api.example.com", "/v1?x=/v1/users", "api_v1"},
      Row{"a query right behind the prefix", "api.example.com", "/v1/users?a", "api_users"},
      Row{"below a suffix", "x.example.com", "/v1", "below"},
      Row{"two labels below", "x.y.example.com", "/", "below"},
      Row{"the suffix itself is not below it", "example.com", "/", "any"},
      Row{"the longer suffix", "x.deep.example.com", "/only/1", "deep"},
      Row{"no path of the longer suffix", "x.deep.example.com", "/other", "below"},
      Row{"no path of the exact host", "bare.example.com", "/y", "below"},
      Row{"a suffix must stand at a dot", "xexample.com", "/", "any"},
      Row{"a leading dot is no label", ".example.com", "/", "any"},
      Row{"IPv6 with port", "[::1]:8080", "/", "six"},
      Row{"IPv6 without port", "[::1]", "/", "six"},
      Row{"a slash at the end of the prefix", "other.test", "/static", "any_static"},
      Row{"below a prefix with a slash", "other.test", "/static/a.css", "any_static"},
      Row{"asterisk form", "api.example.com", "*", "api"},
  };
  const auto all = routes();
  const Router router(all);
  for (const Row& row : rows) {
    const auto route = router.match(row.host, row.path);
    ASSERT_TRUE(route.has_value()) << row.name;
    EXPECT_EQ(all[*route].upstream, row.upstream) << row.name;
  }
}

TEST(Router, GivesNothingWhereNoRouteMatches) {
  const std::vector<RouteOptions> one{{{"api.example.com", "/v1"}, "api", {}, {}}};
  const Router router(one);
  EXPECT_FALSE(router.match("api.example.com", "/"));
  EXPECT_FALSE(router.match("other", "/v1"));
  EXPECT_FALSE(router.match(std::string(300, 'a'), "/v1"));
  EXPECT_FALSE(Router().match("api.example.com", "/v1"));
  EXPECT_TRUE(router.match("api.example.com", "/v1"));
}

}  // namespace
}  // namespace steelyard::request
