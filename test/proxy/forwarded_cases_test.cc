// Whose word about a client counts: cases from the field about X-Forwarded-For and its kind.

#include <gtest/gtest.h>
#include <utility>
#include <vector>

#include "steelyard/proxy/head_facts.h"

#include "test/proxy/sim_rig.h"

namespace steelyard::proxy {
namespace {

using testing::SimClient;
using testing::SimRig;
using namespace std::chrono_literals;

std::vector<request::Network> networks(std::initializer_list<std::string_view> texts) {
  std::vector<request::Network> out;
  for (const auto text : texts) out.push_back(*request::Network::parse(text));
  return out;
}

std::string client_of(std::string_view peer, std::string_view list) {
  const std::vector<http::Field> fields{{"X-Forwarded-For", list, http::FieldId::kXForwardedFor}};
  http::Head head;
  if (!list.empty()) head.fields = fields;
  const auto trusted = networks({"10.0.0.0/8", "2001:db8:1::/48"});
  const auto address = *base::Address::parse(std::string(peer) + ":1");
  return is_trusted(address, trusted) ? client_behind(address, head, trusted).ip_text()
                                      : address.ip_text();
}

TEST(Cases, HDR_05_TheClientIsTheRightMostThatIsNotTrusted) {
  struct Row {
    std::string_view name, peer, list, client;
  };
  for (const Row& row : {
           Row{"spoofed left of the truth", "10.0.0.1", "6.6.6.6, 198.51.100.9, 10.0.0.2",
               "198.51.100.9"},
           Row{"all trusted", "10.0.0.1", "10.0.0.3, 10.0.0.2", "10.0.0.3"},
           Row{"garbage stops the walk", "10.0.0.1", "6.6.6.6, a b, 10.0.0.2", "10.0.0.2"},
           Row{"garbage at the end", "10.0.0.1", "6.6.6.6, unknown", "10.0.0.1"},
           Row{"an empty item", "10.0.0.1", "6.6.6.6,", "10.0.0.1"},
           Row{"no list", "10.0.0.1", "", "10.0.0.1"},
           Row{"an untrusted peer", "192.0.2.7", "6.6.6.6", "192.0.2.7"},
           Row{"IPv6 hops", "[2001:db8:1::5]", "6.6.6.6, 2001:db8:2::1, [2001:db8:1::6]:443",
               "2001:db8:2::1"},
           Row{"IPv4 of a socket for both", "[::ffff:10.0.0.1]", "198.51.100.9, ::ffff:10.0.0.2",
               "198.51.100.9"},
           Row{"a client that claims a trusted address", "10.0.0.1", "10.0.0.9, 203.0.113.5",
               "203.0.113.5"},
       }) {
    SCOPED_TRACE(row.name);
    EXPECT_EQ(client_of(row.peer, row.list), row.client);
  }
}

// What the node is told; the peer is 127.0.0.1.
std::string told(std::vector<std::string> trusted, std::string_view fields) {
  SimRig::Setup setup;
  setup.listener.trusted = std::move(trusted);
  SimRig rig(std::move(setup));
  rig.add_node();
  SimClient& client = rig.dial();
  client.send("GET / HTTP/1.1\r\nHost: t\r\n" + std::string(fields) + "\r\n");
  EXPECT_TRUE(rig.until([&] { return client.in.ends_with("ok"); }));
  return rig.nodes[0].seen.at(0);
}

std::vector<std::string> lines_of(const std::string& head, std::string_view name) {
  std::vector<std::string> out;
  const std::string start = "\r\n" + std::string(name) + ": ";
  for (auto at = head.find(start); at != std::string::npos; at = head.find(start, at + 2)) {
    const auto from = at + start.size();
    out.push_back(head.substr(from, head.find('\r', from) - from));
  }
  return out;
}

TEST(Cases, HDR_03_OnlyAPeerInTheListenersNetworksIsBelieved) {
  constexpr std::string_view kClaims =
      "X-Forwarded-For: 6.6.6.6\r\nX-Forwarded-For: 10.0.0.5\r\nX-Real-IP: 6.6.6.6\r\n"
      "X-Forwarded-Proto: https\r\nX-Forwarded-Host: evil\r\nForwarded: for=6.6.6.6\r\n"
      "X-Forwarded-Port: 7\r\n";
  using Lines = std::vector<std::string>;
  for (const auto& others : {Lines{}, Lines{"10.0.0.0/8", "2001:db8::/32"}}) {
    const auto head = told(others, kClaims);
    EXPECT_EQ(lines_of(head, "X-Forwarded-For"), Lines{"127.0.0.1"});
    EXPECT_EQ(lines_of(head, "X-Forwarded-Proto"), Lines{"http"});
    EXPECT_EQ(lines_of(head, "X-Forwarded-Host"), Lines{"t"});
    for (const auto name : {"X-Real-IP", "Forwarded", "X-Forwarded-Port"}) {
      EXPECT_EQ(lines_of(head, name), Lines{}) << name;
    }
  }
  const auto head = told({"10.0.0.0/8", "127.0.0.1"}, kClaims);
  EXPECT_EQ(lines_of(head, "X-Forwarded-For"), Lines{"6.6.6.6, 10.0.0.5, 127.0.0.1"});
  EXPECT_EQ(lines_of(head, "X-Forwarded-Proto"), Lines{"https"});
  EXPECT_EQ(lines_of(head, "X-Forwarded-Host"), Lines{"evil"});
  EXPECT_EQ(lines_of(head, "X-Real-IP"), Lines{"6.6.6.6"});
}

// Routes ask for the client behind the proxies, and a client cannot choose it.
TEST(Cases, HDR_05_ARouteForAClientCannotBeReachedByAClaim) {
  struct Row {
    std::string_view name, list;
    bool trusted;
    int status;
  };
  for (const Row& row :
       {Row{"told by a trusted proxy", "198.51.100.9", true, 200},
        Row{"claimed to it by somebody else", "198.51.100.9, 203.0.113.1", true, 404},
        Row{"claimed to us", "198.51.100.9", false, 404}}) {
    SCOPED_TRACE(row.name);
    SimRig::Setup setup;
    if (row.trusted) setup.listener.trusted = {"127.0.0.0/8"};
    setup.match.clients = {"198.51.100.0/24"};
    SimRig rig(std::move(setup));
    rig.add_node();
    SimClient& client = rig.dial();
    client.send("GET / HTTP/1.1\r\nHost: t\r\nX-Forwarded-For: " + std::string(row.list) +
                "\r\n\r\n");
    ASSERT_TRUE(rig.until([&] { return client.status() > 0; }));
    EXPECT_EQ(client.status(), row.status);
  }
}

}  // namespace
}  // namespace steelyard::proxy
