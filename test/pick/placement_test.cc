#include "steelyard/pick/placement.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <utility>

namespace steelyard::pick {
namespace {

using Nodes = std::vector<PlacedNode>;

std::uint64_t high(std::uint32_t number) { return std::uint64_t{number} << 32U; }

// Ports of 8081 … 8083.
Nodes three() { return {{"127.0.0.1:8081"}, {"127.0.0.1:8082"}, {"127.0.0.1:8083"}}; }
Nodes memcached() { return {{"10.0.1.1:11211"}, {"10.0.1.2:11211"}, {"10.0.1.3:11211"}}; }

const std::string& met(const Ring& ring, const Nodes& nodes, std::uint64_t number) {
  return nodes[ring[ring.successor(number)].owner].address;
}

TEST(Placement, NginxRowsOfALiveRing) {
  Nodes nodes;
  for (int i = 1; i <= 9; ++i) nodes.push_back({"10.0.0." + std::to_string(i) + ":443", 100});
  const Ring ring = nginx_ring(nodes);
  EXPECT_GT(ring.size(), 143'900U);
  for (const auto& [key, last] :
       {std::pair<std::string_view, int>{"/81fa1d251d605775d647b5b55565e71526d4cef6", 7},
        {"/2fec328e6ccdda6a7edf329f9f780e546ea183b4", 5},
        {"/19fb835d90883a6263ec4279c6da184e3f1a79b2", 4},
        {"/da7a88e542f7aaddc074f988164b9df7e5f7fea6", 4},
        {"/8f87cfd8005306643b6528b3d4125cf005139a7e", 5},
        {"/26d2769eab098458bc3e4e641a4b7d8abffd0aea", 6},
        {"/aa5b5323980f2d3e21246212ebd820c3949c1e88", 7},
        {"/d9c4bc3cc4517c629e8f4c911c2fd8baf260ae65", 1}}) {
    EXPECT_EQ(met(ring, nodes, nginx_number(key)), "10.0.0." + std::to_string(last) + ":443");
  }
}

TEST(Placement, NginxSmallRing) {
  const Nodes nodes = three();
  const Ring ring = nginx_ring(nodes);
  ASSERT_EQ(ring.size(), 480U);
  EXPECT_EQ(ring[0], (Ring::Point{high(858133), 0}));
  EXPECT_EQ(ring[1], (Ring::Point{high(4193833), 0}));
  EXPECT_EQ(ring[2], (Ring::Point{high(5735281), 2}));
  for (const auto& [number, owner] : {std::pair<std::uint32_t, std::uint32_t>{1353366775, 0},
                                      {3101462538, 0},
                                      {708007374, 0},
                                      {2208261503, 0},
                                      {386582055, 1},
                                      {3337737759, 1},
                                      {3923017493, 1},
                                      {333583392, 1},
                                      {711651223, 2},
                                      {3974818796, 2},
                                      {509188963, 2},
                                      {1674132245, 2}}) {
    EXPECT_NE(
        std::find(ring.points().begin(), ring.points().end(), Ring::Point{high(number), owner}),
        ring.points().end())
        << number;
  }
  const auto shares = ring.shares(3);
  EXPECT_NEAR(shares[0], 0.34198, 5e-6);
  EXPECT_NEAR(shares[1], 0.31273, 5e-6);
  EXPECT_NEAR(shares[2], 0.34529, 5e-6);

  const auto row = [](const Nodes& of) {
    const Ring made = nginx_ring(of);
    std::string out;
    for (int i = 1; i <= 20; ++i) out += met(made, of, nginx_number(std::to_string(i))).back();
    return out;
  };
  EXPECT_EQ(row(nodes), "13131312121121223112");
  EXPECT_EQ(row({nodes[0], nodes[2]}), "13131313111111133111");
  EXPECT_EQ(met(ring, nodes, nginx_number("hello")).back(), '1');
  EXPECT_EQ(met(ring, nodes, nginx_number("user:1")).back(), '2');
  EXPECT_EQ(met(ring, nodes, nginx_number("/index.html")).back(), '3');
}

TEST(Placement, Ketama) {
  const Nodes nodes = memcached();
  const Ring ring = ketama_ring(nodes, KetamaPort::kAlways);
  ASSERT_EQ(ring.size(), 480U);
  EXPECT_EQ(ring[0], (Ring::Point{high(4826654), 1}));
  EXPECT_EQ(ring[1], (Ring::Point{high(10171922), 0}));
  EXPECT_EQ(ring[2], (Ring::Point{high(24617692), 2}));
  const auto shares = ring.shares(3);
  EXPECT_NEAR(shares[0], 0.36123, 5e-6);
  EXPECT_NEAR(shares[1], 0.30676, 5e-6);
  EXPECT_NEAR(shares[2], 0.33201, 5e-6);
  for (const auto& [key, number, last] :
       {std::tuple<std::string_view, std::uint32_t, char>{"foo", 3675831724, '2'},
        {"bar", 421377335, '1'},
        {"baz", 2768240243, '2'},
        {"user:1", 282964413, '1'},
        {"hello", 708854109, '3'}}) {
    EXPECT_EQ(ketama_number(key), high(number));
    EXPECT_EQ(met(ring, nodes, ketama_number(key))[7], last) << key;
  }
}

// The rule for the port moves most keys, so both forms are there.
TEST(Placement, KetamaWithoutTheDefaultPort) {
  const Nodes nodes = memcached();
  const Ring ring = ketama_ring(nodes, KetamaPort::kUnlessDefault);
  for (const auto& [key, last] : {std::pair<std::string_view, char>{"foo", '3'},
                                  {"bar", '3'},
                                  {"baz", '3'},
                                  {"user:1", '1'},
                                  {"user:42", '3'},
                                  {"hello", '2'}}) {
    EXPECT_EQ(met(ring, nodes, ketama_number(key))[7], last) << key;
  }
}

TEST(Placement, Envoy) {
  Nodes named;
  for (int i = 90; i <= 95; ++i) named.push_back({std::to_string(i)});
  const Ring ring = envoy_ring(named, {.least = 12});
  const std::vector<std::pair<std::uint64_t, std::string_view>> want{
      {1975508444536362413U, "95"},  {2376063919839173711U, "95"},  {2386806903309390596U, "93"},
      {6749904478991551885U, "94"},  {6803900775736438537U, "93"},  {7225015537174310577U, "92"},
      {8787465352164086522U, "90"},  {11282020843382717940U, "92"}, {13723418369486627818U, "91"},
      {13776502110861797421U, "90"}, {14338313586354474791U, "91"}, {15364271037087512980U, "94"}};
  ASSERT_EQ(ring.size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i) {
    EXPECT_EQ(ring[i].at, want[i].first);
    EXPECT_EQ(named[ring[i].owner].address, want[i].second);
  }

  Nodes addressed;
  for (int i = 90; i <= 95; ++i) addressed.push_back({"127.0.0.1:" + std::to_string(i)});
  const Ring by_address = envoy_ring(addressed, {.least = 12});
  EXPECT_EQ(met(by_address, addressed, 0), "127.0.0.1:94");
  EXPECT_EQ(met(by_address, addressed, 3551244743356806947U), "127.0.0.1:95");
  EXPECT_EQ(met(by_address, addressed, 3551244743356806948U), "127.0.0.1:93");
}

TEST(Placement, HaproxyMixAndNearest) {
  for (const auto& [number, mixed] : {std::pair<std::uint32_t, std::uint32_t>{0, 2874071335},
                                      {1, 881230262},
                                      {2, 3798448204},
                                      {4096, 1237450891},
                                      {4097, 2761370759},
                                      {8192, 1079705203}}) {
    EXPECT_EQ(haproxy_mix(number), mixed);
  }
  const Ring ring({{high(100), 0}, {high(200), 1}, {high(4'000'000'000), 2}});
  for (const auto& [number, owner] : {std::pair<std::uint32_t, std::uint32_t>{100, 0},
                                      {149, 0},
                                      {150, 0},
                                      {151, 1},
                                      {200, 1},
                                      {2'000'000'099, 1},
                                      {2'000'000'101, 2},
                                      {4'200'000'000, 0},
                                      {4'100'000'000, 2},
                                      {0, 0}}) {
    EXPECT_EQ(ring[haproxy_nearest(ring, high(number))].owner, owner) << number;
  }
}

// A weight changes how many of a node's points there are, at the end of the row: keys move to or
// from that node alone.
TEST(Placement, MoreWeightOnlyAddsPoints) {
  for (const auto& make : {nginx_ring, haproxy_ring}) {
    Nodes nodes = three();
    const Ring before = make(nodes);
    nodes[1].weight = 3;
    const Ring after = make(nodes);
    EXPECT_GT(after.size(), before.size());
    for (const auto& point : before.points()) {
      const auto at = after.successor(point.at);
      EXPECT_EQ(after[at].at, point.at);
    }
    for (const auto& point : after.points()) {
      if (point.owner == 1) continue;
      EXPECT_EQ(before[before.successor(point.at)], point);
    }
  }
}

TEST(Placement, NoNodesGiveNoPoints) {
  EXPECT_EQ(nginx_ring({}).size(), 0U);
  EXPECT_EQ(ketama_ring({}, KetamaPort::kAlways).size(), 0U);
  EXPECT_EQ(envoy_ring({}).size(), 0U);
  EXPECT_EQ(haproxy_ring({}).size(), 0U);
}

}  // namespace
}  // namespace steelyard::pick
