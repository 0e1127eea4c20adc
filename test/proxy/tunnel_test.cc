// Upgrades, CONNECT and what is told about time, in simulated time.

#include <array>
#include <gtest/gtest.h>

#include "test/proxy/sim_rig.h"

namespace steelyard::proxy {
namespace {

using testing::Conn;
using testing::kOk;
using testing::SimClient;
using testing::SimNode;
using testing::SimRig;
using namespace std::chrono_literals;

constexpr std::string_view kUpgrade =
    "GET /chat HTTP/1.1\r\nHost: t\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";
constexpr std::string_view kSwitch =
    "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";

// Switches, then gives back what comes.
struct Echo {
  std::string hello = std::string(kSwitch);
  bool open = false;
  std::string head;
  void operator()(SimNode&, Conn& conn) {
    if (!open) {
      const auto end = conn.in.find("\r\n\r\n");
      if (end == std::string::npos) return;
      head = conn.in.substr(0, end + 4);
      conn.in.erase(0, end + 4);
      open = true;
      conn.send(hello);
    }
    conn.send(conn.in);
    conn.in.clear();
  }
};

std::string after_head(const SimClient& client) { return client.body(); }

TEST(Tunnels, BytesGoBothWaysAfterAnAllowedUpgrade) {
  Echo echo;
  SimRig rig({.upgrades = {"websocket"}});
  rig.add_node(std::ref(echo));
  SimClient& client = rig.dial();
  client.send(kUpgrade);
  client.send("early");  // must not be read as a request
  ASSERT_TRUE(rig.until([&] { return after_head(client) == "early"; }));
  EXPECT_EQ(client.status(), 101);
  EXPECT_NE(echo.head.find("Upgrade: websocket\r\n"), std::string::npos) << echo.head;
  std::string big(300'000, 'x');
  client.send(big);
  ASSERT_TRUE(rig.until([&] { return after_head(client).size() == 5 + big.size(); }));
  EXPECT_EQ(rig.worker->metrics().tunnels.read(), 1U);
  EXPECT_EQ(rig.worker->metrics().tunnels_open.read(), 1U);
  EXPECT_EQ(rig.in_flight(), 1U);
  client.peer->end();
  rig.nodes[0].conns[0].end();
  ASSERT_TRUE(rig.until([&] { return rig.worker->exchanges() == 0; }));
  EXPECT_EQ(rig.in_flight(), 0U);
  EXPECT_EQ(rig.worker->metrics().tunnels_open.read(), 0U);
  EXPECT_EQ(rig.cells(0).successes.read(), 1U);
}

TEST(Tunnels, AHalfCloseIsPassedOnAndTheOtherWayGoesOn) {
  for (const bool client_first : {true, false}) {
    SCOPED_TRACE(client_first);
    Echo echo;
    SimRig rig({.upgrades = {"websocket"}});
    rig.add_node(std::ref(echo));
    SimClient& client = rig.dial();
    client.send(kUpgrade);
    ASSERT_TRUE(rig.until([&] { return client.status() == 101; }));
    Conn& conn = rig.nodes[0].conns[0];
    if (client_first) {
      client.peer->end();
      ASSERT_TRUE(rig.until([&] { return conn.peer->ended(); }));
      conn.send("still here");
      ASSERT_TRUE(rig.until([&] { return after_head(client) == "still here"; }));
      conn.end();
    } else {
      conn.end();
      ASSERT_TRUE(rig.until([&] { return client.peer->ended(); }));
      conn.in.clear();
      const auto before = conn.got;
      client.send("still here");
      ASSERT_TRUE(rig.until([&] { return conn.got == before + 10; }));
      client.peer->end();
      ASSERT_TRUE(rig.until([&] { return conn.peer->ended(); }));
    }
    ASSERT_TRUE(rig.until([&] { return rig.worker->exchanges() == 0; }));
    EXPECT_FALSE(conn.peer->was_reset());
    EXPECT_EQ(rig.in_flight(), 0U);
  }
}

TEST(Tunnels, WhatIsNotAllowedIsNotPassedOn) {
  struct Row {
    std::string_view name, offered;
    std::vector<std::string> allowed;
    bool passed;
  };
  const std::vector<Row> rows{{"none is allowed", "websocket", {}, false},
                              {"another one is", "websocket", {"tls"}, false},
                              {"in another case", "WebSocket", {"websocket"}, true},
                              {"one of two", "websocket, tls", {"websocket"}, false},
                              {"both", "websocket, tls", {"tls", "websocket"}, true}};
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    SimRig rig({.upgrades = row.allowed});
    rig.add_node();
    SimClient& client = rig.dial();
    client.send("GET /chat HTTP/1.1\r\nHost: t\r\nConnection: Upgrade\r\nUpgrade: " +
                std::string(row.offered) + "\r\n\r\n");
    ASSERT_TRUE(rig.until([&] { return client.in.ends_with("ok"); }));
    ASSERT_EQ(rig.nodes[0].seen.size(), 1U);
    EXPECT_EQ(rig.nodes[0].seen[0].find("Upgrade: ") != std::string::npos, row.passed);
    client.in.clear();
    client.send("GET /x HTTP/1.1\r\nHost: t\r\n\r\n");  // HTTP goes on
    ASSERT_TRUE(rig.until([&] { return client.in.ends_with("ok"); }));
  }
}

TEST(Tunnels, ConnectNeedsARouteThatAllowsIt) {
  for (const bool allowed : {true, false}) {
    Echo echo{.hello = "HTTP/1.1 200 OK\r\n\r\n"};
    SimRig rig({.connect = allowed});
    rig.add_node(std::ref(echo));
    SimClient& client = rig.dial();
    client.send("CONNECT db.example:5432 HTTP/1.1\r\nHost: db.example:5432\r\n\r\n");
    ASSERT_TRUE(rig.until([&] { return client.status() != 0; }));
    EXPECT_EQ(client.status(), allowed ? 200 : 501);
    if (!allowed) continue;
    EXPECT_TRUE(echo.head.starts_with("CONNECT db.example:5432 HTTP/1.1\r\n")) << echo.head;
    client.send("ping");
    ASSERT_TRUE(rig.until([&] { return after_head(client) == "ping"; }));
  }
}

TEST(Tunnels, EndWhenNothingMoves) {
  Echo echo;
  request::TimeoutOptions timeouts;
  timeouts.total = 1s;  // does not hold for them
  timeouts.idle = 1s;
  timeouts.tunnel = 10s;
  SimRig rig({.timeouts = timeouts, .upgrades = {"websocket"}});
  rig.add_node(std::ref(echo));
  SimClient& client = rig.dial();
  client.send(kUpgrade);
  ASSERT_TRUE(rig.until([&] { return client.status() == 101; }));
  rig.run(8s);
  client.send("ping");
  rig.run(8s);
  EXPECT_FALSE(client.closed());
  EXPECT_EQ(after_head(client), "ping");
  rig.run(3s);
  EXPECT_TRUE(client.closed());
  EXPECT_EQ(rig.worker->exchanges(), 0U);
  EXPECT_EQ(rig.in_flight(), 0U);
  EXPECT_EQ(rig.cells(0).failures.read(), 0U);
}

// Many changes while a tunnel is open: it holds no Config, and is none of the oldest's exchanges.
TEST(Tunnels, DRN_02_ChangesOfOthersLeaveThemAlone) {
  Echo echo;
  SimRig rig({.upgrades = {"websocket"}});
  rig.add_node(std::ref(echo));
  SimClient& client = rig.dial();
  client.send(kUpgrade);
  ASSERT_TRUE(rig.until([&] { return client.status() == 101; }));
  rig.add_node();
  std::string sent;
  for (int i = 0; i < 100; ++i) {
    rig.setup.timeouts.head = std::chrono::seconds(1 + i % 5);
    rig.weights[1] = 1 + i % 7;
    rig.listed[1] = i % 3 != 0;
    rig.publish();
    rig.publish_config();
    rig.run(5s, 50ms);  // ten minutes, all in all, and no more
    client.send("ping");
    sent += "ping";
    ASSERT_TRUE(rig.until([&] { return after_head(client) == sent; }));
  }
  EXPECT_GE(rig.publisher.cell(0).oldest_config.read(), 100U);
  client.peer->reset();
  rig.run(10ms);
  EXPECT_EQ(rig.in_flight(), 0U);
}

TEST(Tunnels, ADrainLeavesThemUntilItsLimit) {
  Echo echo;
  SimRig rig({.upgrades = {"websocket"}});
  rig.add_node(std::ref(echo));
  SimClient& client = rig.dial();
  client.send(kUpgrade);
  ASSERT_TRUE(rig.until([&] { return client.status() == 101; }));
  rig.worker->drain(rig.now() + 1s, rig.now() + 20s);
  rig.run(15s);
  client.send("ping");
  ASSERT_TRUE(rig.until([&] { return after_head(client) == "ping"; }, 100ms));
  rig.run(10s);
  EXPECT_TRUE(client.closed());
  EXPECT_TRUE(rig.worker->finished());
}

TEST(Deadlines, TheNodeIsToldWhatIsLeft) {
  request::TimeoutOptions timeouts;
  timeouts.total = 5s;
  timeouts.tell = true;
  timeouts.connect = 1s;
  SimRig rig({.timeouts = timeouts, .picker = "least_connections"});
  rig.add_node();
  rig.add_node();
  rig.weights = {100, 1};
  rig.publish();
  SimClient& client = rig.dial();
  client.send("GET /x HTTP/1.1\r\nHost: t\r\nX-Request-Timeout-Ms: 77777\r\n\r\n");
  ASSERT_TRUE(rig.until([&] { return client.in.ends_with("ok"); }));
  const auto field = [](const std::string& head) {
    const auto at = head.find("X-Request-Timeout-Ms:");
    EXPECT_EQ(head.find("X-Request-Timeout-Ms:", at + 1), std::string::npos) << head;
    return at == std::string::npos ? -1 : std::atoi(head.c_str() + at + 21);
  };
  EXPECT_GE(field(rig.nodes[0].seen.at(0)), 4990);
  EXPECT_LE(field(rig.nodes[0].seen.at(0)), 5000);
  // After a failed connect less is left.
  rig.sim->blackhole(rig.nodes[0].address());
  SimClient& other = rig.dial();
  rig.nodes[0].conns.clear();
  rig.run(10ms);
  other.send("GET /y HTTP/1.1\r\nHost: t\r\n\r\n");
  ASSERT_TRUE(rig.until([&] { return other.in.ends_with("ok"); }));
  EXPECT_GE(field(rig.nodes[1].seen.at(0)), 3900);
  EXPECT_LE(field(rig.nodes[1].seen.at(0)), 4000);
}

TEST(Deadlines, WhatTheClientGivesCountsWhereItIsTrusted) {
  for (const bool trusted : {true, false}) {
    SimRig rig;
    rig.setup.options.clients.trust_forwarded = trusted;
    rig.publish_config();
    rig.add_node([](SimNode& node, Conn& conn) {
      std::string whole;
      while (conn.next_request(whole)) node.seen.push_back(whole);
    });
    SimClient& client = rig.dial();
    const auto from = rig.now();
    client.send("GET /x HTTP/1.1\r\nHost: t\r\nX-Request-Timeout-Ms: 250\r\n\r\n");
    ASSERT_TRUE(rig.until([&] { return client.status() == 504; }));
    EXPECT_NEAR(base::seconds(rig.now() - from), trusted ? 0.25 : 10, 0.02);
    const auto& head = rig.nodes[0].seen.at(0);
    const int told = std::atoi(head.c_str() + head.find("X-Request-Timeout-Ms:") + 21);
    EXPECT_GE(told, trusted ? 240 : 250) << head;
    EXPECT_LE(told, 250) << head;
  }
}

}  // namespace
}  // namespace steelyard::proxy
