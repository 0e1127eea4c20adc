// Connections to nodes in simulated time: kept, reused, bounded, retired, and never used when
// something is odd.

#include <algorithm>
#include <array>
#include <functional>
#include <gtest/gtest.h>
#include <optional>

#include "test/proxy/sim_rig.h"

namespace steelyard::proxy {
namespace {

using testing::answer_ok;
using testing::Conn;
using testing::kOk;
using testing::SimClient;
using testing::SimNode;
using testing::SimRig;
using namespace std::chrono_literals;

constexpr std::string_view kGet = "GET /x HTTP/1.1\r\nHost: t\r\n\r\n";

bool ok(const SimClient& client) { return client.in.ends_with("\r\n\r\nok"); }

TEST(Pools, ReuseTheConnectionUsedLastAndKeepABoundedNumber) {
  SimRig::Setup setup;
  setup.options.pool.connections = 2;
  SimRig rig(setup);
  SimNode& node = rig.add_node([](SimNode&, Conn&) {});
  for (int i = 0; i < 4; ++i) rig.dial().send(kGet);
  ASSERT_TRUE(rig.until([&] { return node.conns.size() == 4 && node.conns[3].got > 0; }));
  node.script = answer_ok;
  ASSERT_TRUE(rig.until([&] { return std::all_of(rig.clients.begin(), rig.clients.end(), ok); }));
  rig.run(10ms);
  EXPECT_EQ(rig.pooled(), 2U);
  EXPECT_EQ(node.open(), 2U);
  const auto connects = rig.worker->metrics().node_connects.read();
  for (int i = 0; i < 10; ++i) {
    rig.clients[0].in.clear();
    rig.clients[0].send(kGet);
    ASSERT_TRUE(rig.until([&] { return ok(rig.clients[0]); }));
  }
  EXPECT_EQ(rig.worker->metrics().node_connects.read(), connects);
  const auto busy = std::count_if(node.conns.begin(), node.conns.end(),
                                  [](const Conn& conn) { return conn.requests > 1; });
  EXPECT_EQ(busy, 1);  // always the same one
}

TEST(Pools, AnIdleConnectionIsRetiredBeforeTheNodeWould) {
  SimRig rig;
  SimNode& node = rig.add_node();
  SimClient& client = rig.dial();
  client.send(kGet);
  ASSERT_TRUE(rig.until([&] { return ok(client); }));
  rig.run(49s);
  EXPECT_EQ(rig.pooled(), 1U);
  rig.run(1100ms);
  EXPECT_EQ(rig.pooled(), 0U);
  EXPECT_TRUE(node.conns[0].peer->ended());
  EXPECT_FALSE(node.conns[0].peer->was_reset());
}

TEST(Pools, WhatANodeDoesToAnIdleConnectionEndsIt) {
  struct Row {
    std::string_view name;
    std::function<void(Conn&)> act;
  };
  const std::array rows{
      Row{"early bytes",
          [](Conn& conn) { conn.send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"); }},
      Row{"end", [](Conn& conn) { conn.end(); }},
      Row{"reset", [](Conn& conn) { conn.reset(); }},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    SimRig rig;
    SimNode& node = rig.add_node();
    SimClient& client = rig.dial();
    client.send(kGet);
    ASSERT_TRUE(rig.until([&] { return ok(client); }));
    rig.run(5ms);
    ASSERT_EQ(rig.pooled(), 1U);
    row.act(node.conns[0]);
    rig.run(5ms);
    EXPECT_EQ(rig.pooled(), 0U);
    client.in.clear();
    client.send("POST / HTTP/1.1\r\nHost: t\r\nContent-Length: 0\r\n\r\n");
    ASSERT_TRUE(rig.until([&] { return ok(client); }));
    EXPECT_EQ(node.conns.size(), 2U);
    EXPECT_EQ(rig.worker->metrics().retries.read(), 0U);
  }
}

TEST(Pools, BytesBehindAnAnswerNeverReachTheNextRequest) {
  SimRig rig;
  SimNode& node = rig.add_node([](SimNode&, Conn& conn) {
    std::string whole;
    if (conn.next_request(whole))
      conn.send(std::string(kOk) + "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil");
  });
  SimClient& client = rig.dial();
  client.send(kGet);
  ASSERT_TRUE(rig.until([&] { return ok(client); }));
  client.in.clear();
  client.send(kGet);
  ASSERT_TRUE(rig.until([&] { return ok(client); }));
  rig.run(5ms);
  EXPECT_EQ(client.in.find("evil"), std::string::npos);
  EXPECT_EQ(node.conns.size(), 2U);
}

TEST(Pools, FollowTheTable) {
  SimRig rig;
  SimNode& stays = rig.add_node();
  SimNode& leaves = rig.add_node();
  SimClient& client = rig.dial();
  for (int i = 0; i < 4; ++i) {
    client.in.clear();
    client.send(kGet);
    ASSERT_TRUE(rig.until([&] { return ok(client); }));
  }
  ASSERT_EQ(rig.pooled(), 2U);
  rig.listed[1] = false;
  rig.publish();
  rig.run(5ms);
  EXPECT_EQ(rig.cells(1).pooled.read(), 0U);
  EXPECT_EQ(leaves.open(), 0U);
  EXPECT_EQ(rig.publisher.table_taken(), 4U);  // empty, one node, two nodes, one node
  // KAL-06: the connections of those that stay are kept, whatever changes.
  for (int i = 0; i < 10; ++i) {
    rig.weights[0] = 1 + i;
    rig.publish();
    rig.publish_config();
    client.in.clear();
    client.send(kGet);
    ASSERT_TRUE(rig.until([&] { return ok(client); }));
  }
  EXPECT_EQ(stays.conns.size(), 1U);
}

}  // namespace
}  // namespace steelyard::proxy
