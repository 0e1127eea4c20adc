#include "steelyard/request/router.h"

#include <array>
#include <functional>
#include <gtest/gtest.h>
#include <map>
#include <regex>

#include "steelyard/request/split.h"

namespace steelyard::request {
namespace {

// A request that has nothing but what a test gives it.
struct Given final : Facts {
  std::map<std::string, std::string, std::less<>> headers, cookies, arguments;
  base::Address from = base::Address::loopback(1);
  mutable unsigned asked = 0;

  using Map = std::map<std::string, std::string, std::less<>>;
  std::optional<std::string_view> find(const Map& in, std::string_view name) const noexcept {
    ++asked;
    const auto at = in.find(name);
    return at == in.end() ? std::nullopt : std::optional<std::string_view>(at->second);
  }
  std::optional<std::string_view> header(std::string_view name) const noexcept override {
    return find(headers, name);
  }
  std::optional<std::string_view> cookie(std::string_view name) const noexcept override {
    return find(cookies, name);
  }
  std::optional<std::string_view> query(std::string_view name) const noexcept override {
    return find(arguments, name);
  }
  base::Address client() const noexcept override {
    ++asked;
    return from;
  }
  std::string_view path() const noexcept override { return "/a"; }
  std::string_view uri() const noexcept override { return "/a?b"; }
  std::string_view host() const noexcept override { return "x.example:81"; }
};

std::optional<std::uint32_t> match(const Router& router, std::string_view host,
                                   std::string_view path) {
  const Given nothing;
  const auto route = router.match({host, path, "GET"}, nothing);
  EXPECT_EQ(nothing.asked, 0U);
  return route;
}

std::vector<RouteOptions> routes() {
  const auto route = [](std::string host, std::string path, std::string upstream) {
    RouteOptions made;
    made.match.host = std::move(host);
    made.match.path = std::move(path);
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
    const auto route = match(router, row.host, row.path);
    ASSERT_TRUE(route.has_value()) << row.name;
    EXPECT_EQ(all[*route].upstream, row.upstream) << row.name;
  }
}

TEST(Router, GivesNothingWhereNoRouteMatches) {
  std::vector<RouteOptions> one(1);
  one[0].match.host = "api.example.com";
  one[0].match.path = "/v1";
  const Router router(one);
  EXPECT_FALSE(match(router, "api.example.com", "/"));
  EXPECT_FALSE(match(router, "other", "/v1"));
  EXPECT_FALSE(match(router, std::string(300, 'a'), "/v1"));
  EXPECT_FALSE(match(Router(), "api.example.com", "/v1"));
  EXPECT_TRUE(match(router, "api.example.com", "/v1"));
}

base::Result<std::unique_ptr<const Pattern>> standard_regex(std::string_view text) {
  struct Regex final : Pattern {
    explicit Regex(std::string_view text) : regex(std::string(text)) {}
    bool matches(std::string_view whole) const noexcept override {
      return std::regex_match(whole.begin(), whole.end(), regex);
    }
    std::regex regex;
  };
  return std::unique_ptr<const Pattern>(std::make_unique<Regex>(text));
}

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

TEST(Router, ExactPathsComeBeforeExpressionsAndTheseBeforePrefixes) {
  std::vector<MatchOptions> matches(5);
  matches[0].path = "/a/b";
  matches[1].path_regex = "/a/[a-z]+";
  matches[2].path_regex = "/a/.*";
  matches[3].path_exact = "/a/b";
  matches[4].path = "/";
  const auto all = routes_with(matches);
  const Router router(all, standard_regex);
  struct Row {
    std::string_view path;
    std::uint32_t want;
  };
  for (const Row& row : {Row{"/a/b", 3}, Row{"/a/b?q=1", 3}, Row{"/a/c", 1}, Row{"/a/C", 2},
                         Row{"/a/b/", 2}, Row{"/b", 4}, Row{"/x/a/b", 4}}) {
    EXPECT_EQ(match(router, "h", row.path), row.want) << row.path;
  }
  // Without an engine expressions never match.
  EXPECT_EQ(match(Router(all), "h", "/a/b/c"), 0U);
}

TEST(Router, EveryConditionMustHold) {
  MatchOptions wanted;
  wanted.methods = {"GET", "BREW"};
  wanted.headers.entries = {{"X-Version", {.exact = "v2"}}, {"X-Any", {}}};
  wanted.cookies.entries = {{"tier", {.prefix = "go"}}};
  wanted.query.entries = {{"q", {.regex = "[0-9]+"}}, {"debug", {.absent = true}}};
  wanted.clients = {"10.0.0.0/8", "2001:db8::/32"};
  const auto all = routes_with({wanted});
  const Router router(all, standard_regex);
  const auto holds = [&](const std::function<void(Given&, std::string&)>& change) {
    Given given;
    given.headers = {{"X-Version", "v2"}, {"X-Any", ""}};
    given.cookies = {{"tier", "gold"}};
    given.arguments = {{"q", "12"}};
    given.from = base::Address::v4({10, 1, 2, 3}, 1);
    std::string method = "GET";
    change(given, method);
    return router.match({"h", "/", method}, given).has_value();
  };
  EXPECT_TRUE(holds([](Given&, std::string&) {}));
  EXPECT_TRUE(holds([](Given&, std::string& method) { method = "BREW"; }));
  EXPECT_TRUE(holds(
      [](Given& given, std::string&) { given.from = *base::Address::parse("[2001:db8::7]:1"); }));
  EXPECT_FALSE(holds([](Given&, std::string& method) { method = "get"; }));
  EXPECT_FALSE(holds([](Given& given, std::string&) { given.headers["X-Version"] = "v20"; }));
  EXPECT_FALSE(holds([](Given& given, std::string&) { given.headers.erase("X-Version"); }));
  EXPECT_FALSE(holds([](Given& given, std::string&) { given.headers.erase("X-Any"); }));
  EXPECT_FALSE(holds([](Given& given, std::string&) { given.cookies["tier"] = "ago"; }));
  EXPECT_FALSE(holds([](Given& given, std::string&) { given.arguments["q"] = "12x"; }));
  EXPECT_FALSE(holds([](Given& given, std::string&) { given.arguments["debug"] = ""; }));
  EXPECT_FALSE(
      holds([](Given& given, std::string&) { given.from = base::Address::v4({11, 1, 2, 3}, 1); }));
  EXPECT_FALSE(holds([](Given& given, std::string&) { given.from = {}; }));
}

TEST(Router, MoreConditionsAreLookedAtFirstThenTheOrderWritten) {
  auto all = routes_with({{},
                          with({{"A", {}}}),
                          with({{"A", {}}, {"B", {}}}),
                          with({{"B", {}}}),
                          with({{"A", {.exact = "1"}}})});
  all[4].match.path = "/deep";
  const Router router(all);
  struct Row {
    std::string_view name;
    bool a, b;
    std::string_view path;
    std::uint32_t want;
  };
  for (const Row& row : {Row{"neither", false, false, "/", 0}, Row{"one", true, false, "/", 1},
                         Row{"both", true, true, "/", 2}, Row{"the other", false, true, "/", 3},
                         Row{"the longer path first", true, true, "/deep", 4},
                         Row{"whose conditions fail: the shorter path", false, true, "/deep", 3}}) {
    Given given;
    if (row.a) given.headers["A"] = "1";
    if (row.b) given.headers["B"] = "1";
    EXPECT_EQ(router.match({"h", row.path, "GET"}, given), row.want) << row.name;
  }
}

TEST(Network, IsReadExactlyOrRefused) {
  struct Row {
    std::string_view text, inside, outside;  // no `inside`: refused
  };
  constexpr std::array rows{Row{"10.0.0.0/8", "10.255.0.1:1", "11.0.0.1:1"},
                            Row{"10.128.0.0/9", "10.128.0.1:1", "10.127.255.255:1"},
                            Row{"10.1.2.3", "10.1.2.3:1", "10.1.2.4:1"},
                            Row{"10.1.2.3/32", "10.1.2.3:1", "10.1.2.2:1"},
                            Row{"0.0.0.0/0", "1.2.3.4:1", "[::1]:1"},
                            Row{"2001:db8::/33", "[2001:db8::1]:1", "[2001:db8:8000::1]:1"},
                            Row{"::1", "[::1]:1", "127.0.0.1:1"},
                            Row{"10.0.0.1/8", "", ""},
                            Row{"10.0.0.0/33", "", ""},
                            Row{"10.0.0.0/", "", ""},
                            Row{"10.0.0.0/08", "", ""},
                            Row{"10.0.0/8", "", ""},
                            Row{"2001:db8::1/64", "", ""},
                            Row{"", "", ""},
                            Row{"/8", "", ""},
                            Row{"example.com", "", ""}};
  for (const Row& row : rows) {
    const auto network = Network::parse(row.text);
    ASSERT_EQ(network.has_value(), !row.inside.empty()) << row.text;
    if (!network) continue;
    EXPECT_TRUE(network->holds(*base::Address::parse(row.inside))) << row.text;
    EXPECT_FALSE(network->holds(*base::Address::parse(row.outside))) << row.text;
  }
}

TEST(Router, AmongManyPrefixesTheLongestOnABoundaryStillWins) {
  std::vector<MatchOptions> all;
  for (const char* const path : {"/a", "/a/b", "/a/b/c", "/", "/ab", "/x/y/", "/a//b", "/q"}) {
    all.emplace_back().path = path;
  }
  const auto few = routes_with(all);
  for (int i = 0; i < 24'000; ++i) all.emplace_back().path = "/many/" + std::to_string(i);
  const auto many = routes_with(all);
  const Router by_walk(few), by_hash(many);
  for (const char* const path : {"/",
                                 "",
                                 "*",
                                 "/a",
                                 "/a/",
                                 "/a/b",
                                 "/a/b/",
                                 "/a/bc",
                                 "/a/b/c/d/e/f/g/h/i",
                                 "/ab",
                                 "/abc",
                                 "/x/y",
                                 "/x/y/",
                                 "/x/y/z",
                                 "/x",
                                 "/a//b",
                                 "/a//b/c",
                                 "//",
                                 "/q?a=/a/b",
                                 "a/b",
                                 "/q/////////",
                                 "/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa/b"}) {
    const Target target{"", path, "GET"};
    EXPECT_EQ(by_hash.match(target, Given{}), by_walk.match(target, Given{})) << path;
  }
  EXPECT_EQ(by_hash.match({"", "/many/23999/x", "GET"}, Given{}), all.size() - 1);
}

TEST(Split, SharesByWeightAtRandomAndByKey) {
  const std::vector<SplitOptions> parts{{"v1", 90}, {"v2", 10}, {"v3", 0}};
  const Split split(parts, "header:X-User");
  base::Rng rng(5);
  for (const bool by_key : {false, true}) {
    std::array<unsigned, 3> took{};
    for (std::uint64_t i = 0; i < 100'000; ++i) {
      const auto key = hash_of("user" + std::to_string(i));
      ++took[split.choose(by_key ? std::optional(key) : std::nullopt, rng)];
    }
    EXPECT_NEAR(took[0], 90'000, 500);
    EXPECT_NEAR(took[1], 10'000, 500);
    EXPECT_EQ(took[2], 0U);
  }
}

TEST(Split, AKeyStaysUnlessItsUpstreamLosesIt) {
  const Split before(std::vector<SplitOptions>{{"v1", 95}, {"v2", 5}}, "client");
  const Split after(std::vector<SplitOptions>{{"v2", 20}, {"v1", 80}}, "client");  // other order
  base::Rng rng(5);
  unsigned moved = 0;
  for (std::uint64_t i = 0; i < 20'000; ++i) {
    const auto key = hash_of(std::to_string(i));
    const bool was = before.choose(key, rng) == 0;  // at v1
    const bool is = after.choose(key, rng) == 1;
    EXPECT_TRUE(was || !is);  // nobody goes to v1, which shrinks
    moved += was != is ? 1 : 0;
  }
  EXPECT_NEAR(moved, 3000, 250);
}

TEST(KeySource, IsReadExactlyOrRefused) {
  Given given;
  given.headers = {{"X-User", "ann"}, {"X-None", ""}};
  given.cookies = {{"id", "ann"}};
  given.arguments = {{"u", "ann"}};
  for (const std::string_view text : {"header:X-User", "cookie:id", "query:u"}) {
    EXPECT_EQ(KeySource::parse(text)->key(given), hash_of("ann")) << text;
  }
  EXPECT_EQ(KeySource::parse("client")->key(given), hash_of("127.0.0.1"));
  EXPECT_EQ(KeySource::parse("path")->key(given), hash_of("/a"));
  EXPECT_EQ(KeySource::parse("uri")->key(given), hash_of("/a?b"));
  EXPECT_EQ(KeySource::parse("host")->key(given), hash_of("x.example:81"));
  EXPECT_TRUE(KeySource::parse("random")->random());
  for (const std::string_view text : {"random", "header:X-None", "header:Other", "cookie:x"}) {
    EXPECT_EQ(KeySource::parse(text)->key(given), std::nullopt) << text;
  }
  for (const std::string_view text :
       {"", "header", "header:", "ip", "Client", "client/", "client/0", "client/33",
        "client/24/129", "client/24/", "client/24/64/1", "client/x", "path/", "client/-1"}) {
    EXPECT_FALSE(KeySource::parse(text).has_value()) << text;
  }
  const auto client = [&](std::string_view source, std::string_view from) {
    given.from = *base::Address::parse(from);
    KeySource::Room room;
    return std::string(KeySource::parse(source)->text(given, room).value_or("nothing"));
  };
  EXPECT_EQ(client("client/24", "10.1.2.3:80"), "10.1.2.0");
  EXPECT_EQ(client("client/31", "10.1.2.3:80"), "10.1.2.2");
  EXPECT_EQ(client("client/24", "[2001:db8:1:2::3]:80"), "2001:db8:1:2::3");
  EXPECT_EQ(client("client/24/56", "[2001:db8:1:2ff::3]:80"), "2001:db8:1:200::");
  EXPECT_EQ(client("client/24/56", "10.1.2.3:80"), "10.1.2.0");
  EXPECT_EQ(hash_of(""), hash_of(""));
  EXPECT_NE(hash_of("a"), hash_of("b"));
}

}  // namespace
}  // namespace steelyard::request
