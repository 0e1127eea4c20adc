// Connections to nodes in simulated time: kept, reused, bounded, retired, and never used when
// something is odd.

#include <algorithm>
#include <array>
#include <functional>
#include <gtest/gtest.h>
#include <map>
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
  rig.add_node();
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
}

TEST(Pools, KAL_06_WhateverChangesConnectionsToNodesThatStayAreKept) {
  SimRig rig;
  SimNode& a = rig.add_node();
  SimNode& b = rig.add_node();
  std::vector<SimClient*> clients{&rig.dial(), &rig.dial()};
  const auto round = [&] {
    for (SimClient* client : clients) {
      client->in.clear();
      client->send(kGet);
    }
    ASSERT_TRUE(rig.until([&] { return ok(*clients[0]) && ok(*clients[1]); }));
  };
  for (int i = 0; i < 10; ++i) round();
  const auto of_a = a.conns.size();
  const auto of_b = b.conns.size();
  rig.add_node();
  for (int i = 0; i < 60; ++i) {
    if (i == 40) rig.listed[2] = false;
    rig.weights[0] = 1 + i % 3;
    rig.publish();
    if (i % 10 == 0) rig.publish_config();
    round();
  }
  EXPECT_EQ(a.conns.size(), of_a);
  EXPECT_EQ(b.conns.size(), of_b);
  const auto& metrics = rig.worker->metrics();
  const auto reuses = static_cast<double>(metrics.node_reuses.read());
  EXPECT_GT(reuses / (reuses + static_cast<double>(metrics.node_connects.read())), 0.9);
}

// --- retired before the node closes them

// Answers, and closes each connection that has been idle for `limit`.
SimNode::Script closes_after(SimRig& rig, base::Duration limit, std::string_view answer = kOk) {
  return [&rig, limit, answer, last = std::map<Conn*, base::TimePoint>()](SimNode& node,
                                                                          Conn& conn) mutable {
    std::string whole;
    while (conn.next_request(whole)) {
      ++node.requests;
      conn.send(answer);
      last[&conn] = rig.now();
    }
    if (last.contains(&conn) && rig.now() - last[&conn] >= limit) {
      last.erase(&conn);
      conn.end();
    }
  };
}

// Like run, in longer steps.
void idle(SimRig& rig, base::Duration time) {
  (void)rig.until([] { return false; }, time);
}

TEST(Pools, AnIdleTimeOutThatTheNodeTellsIsKept) {
  SimRig rig;
  SimNode& node = rig.add_node([](SimNode&, Conn& conn) {
    std::string whole;
    if (conn.next_request(whole)) {
      conn.send("HTTP/1.1 200 OK\r\nKeep-Alive: timeout=5, max=100\r\nContent-Length: 2\r\n\r\nok");
    }
  });
  SimClient& client = rig.dial();
  client.send(kGet);
  ASSERT_TRUE(rig.until([&] { return ok(client); }));
  rig.run(3900ms);
  EXPECT_EQ(rig.pooled(), 1U);
  rig.run(200ms);
  EXPECT_EQ(rig.pooled(), 0U);
  EXPECT_TRUE(node.conns[0].peer->ended());
  EXPECT_EQ(rig.worker->metrics().pool_retired.read(), 1U);
}

TEST(Pools, KAL_01_ANodeThatClosesAsWeSendCostsNoAnswer) {
  SimRig::Setup setup;
  setup.options.clients.idle_timeout = 1h;
  SimRig rig(setup);
  rig.add_node(closes_after(rig, 1s));
  SimClient& client = rig.dial();
  base::Rng rng(7);
  for (int i = 0; i < 400; ++i) {
    client.in.clear();
    client.send(kGet);
    ASSERT_TRUE(rig.until([&] { return client.status() > 0; })) << i;
    ASSERT_EQ(client.status(), 200) << i;
    idle(rig, 995ms + std::chrono::microseconds(rng() % 10'000));
  }
  // What it learned is that these connections live for less than a second.
  const auto died = rig.worker->metrics().pool_died.read();
  EXPECT_GT(died, 0U);
  EXPECT_LT(died, 20U);
  EXPECT_GT(rig.worker->metrics().pool_retired.read(), 350U);
}

TEST(Pools, KAL_02_APostGoesOnAYoungOrAFreshConnection) {
  SimRig rig;
  SimNode& node = rig.add_node(closes_after(rig, 1s));
  SimClient& client = rig.dial();
  for (int i = 0; i < 40; ++i) {
    client.in.clear();
    client.send("POST / HTTP/1.1\r\nHost: t\r\nContent-Length: 10\r\n\r\n0123456789");
    ASSERT_TRUE(rig.until([&] { return client.status() > 0; }));
    ASSERT_EQ(client.status(), 200);
    idle(rig, 1500ms);
  }
  EXPECT_EQ(node.conns.size(), 40U);
  EXPECT_EQ(node.requests, 40U);
}

TEST(Pools, WhatMustNotBeRepeatedGetsNoConnectionThatHasBeenIdleForLong) {
  SimRig rig;
  SimNode& node = rig.add_node();
  SimClient& client = rig.dial();
  const auto send = [&](std::string_view request) {
    client.in.clear();
    client.send(request);
    ASSERT_TRUE(rig.until([&] { return ok(client); }));
    idle(rig, 26s);  // kept for 50 s
  };
  send(kGet);
  send(kGet);
  EXPECT_EQ(node.conns.size(), 1U);
  send("POST / HTTP/1.1\r\nHost: t\r\nContent-Length: 0\r\n\r\n");
  EXPECT_EQ(node.conns.size(), 2U);
}

TEST(Pools, AConnectionIsGivenUpAtItsAgeAndAfterItsRequests) {
  struct Row {
    std::string_view name;
    base::Duration max_age;
    std::uint32_t max_requests;
    std::size_t connections;  // for ten requests, one a second
  };
  constexpr std::array rows{Row{"no limit", 0s, 0, 1}, Row{"age", 5s, 0, 2},
                            Row{"requests", 0s, 5, 2}, Row{"every request", 0s, 1, 10}};
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    SimRig::Setup setup;
    setup.options.pool.max_age = row.max_age;
    setup.options.pool.max_requests = row.max_requests;
    SimRig rig(setup);
    SimNode& node = rig.add_node();
    SimClient& client = rig.dial();
    for (int i = 0; i < 10; ++i) {
      client.in.clear();
      client.send(kGet);
      ASSERT_TRUE(rig.until([&] { return ok(client); }));
      rig.run(1s);
    }
    EXPECT_EQ(node.conns.size(), row.connections);
    EXPECT_EQ(rig.worker->metrics().retries.read(), 0U);
  }
}

// --- what is not trusted

TEST(Pools, AfterASilenceWhatHasGivenNoAnswerSinceIsClosed) {
  SimRig rig;
  SimNode& node = rig.add_node([](SimNode&, Conn&) {});
  for (int i = 0; i < 5; ++i) rig.dial().send(kGet);
  ASSERT_TRUE(rig.until([&] { return node.conns.size() == 5 && node.conns[4].got > 0; }));
  node.script = answer_ok;
  ASSERT_TRUE(rig.until([&] { return std::all_of(rig.clients.begin(), rig.clients.end(), ok); }));
  ASSERT_EQ(rig.pooled(), 5U);
  // F9: from now on the node's old connections lead nowhere; new ones work.
  for (Conn& conn : node.conns) conn.reads = false;
  int failures = 0;
  for (int i = 0; i < 10; ++i) {
    SimClient& client = rig.clients[0];
    client.in.clear();
    client.send(kGet);
    ASSERT_TRUE(rig.until([&] { return client.status() > 0; }));
    if (client.status() != 200) ++failures;
    rig.run(5ms);
  }
  EXPECT_EQ(failures, 1);
  EXPECT_EQ(rig.worker->metrics().pool_distrusted.read(), 4U);
}

TEST(Pools, AConnectionThatAnsweredSinceIsKeptThroughASilence) {
  SimRig rig;
  SimNode& node = rig.add_node([](SimNode& to, Conn& conn) {
    std::string whole;
    while (conn.next_request(whole)) {
      if (whole.find("/slow") == std::string::npos) conn.send(kOk);
      ++to.requests;
    }
  });
  SimClient& slow = rig.dial();
  SimClient& quick = rig.dial();
  slow.send("GET /slow HTTP/1.1\r\nHost: t\r\n\r\n");
  ASSERT_TRUE(rig.until([&] { return node.requests == 1; }));
  quick.send(kGet);
  ASSERT_TRUE(rig.until([&] { return slow.status() == 504; }));
  EXPECT_TRUE(ok(quick));
  EXPECT_EQ(rig.pooled(), 1U);
  EXPECT_EQ(rig.worker->metrics().pool_distrusted.read(), 0U);
}

TEST(Pools, MissesAndEvictionsAreCounted) {
  SimRig::Setup setup;
  setup.options.pool.connections = 2;
  SimRig rig(setup);
  SimNode& node = rig.add_node([](SimNode&, Conn&) {});
  for (int i = 0; i < 4; ++i) rig.dial().send(kGet);
  ASSERT_TRUE(rig.until([&] { return node.conns.size() == 4 && node.conns[3].got > 0; }));
  node.script = answer_ok;
  ASSERT_TRUE(rig.until([&] { return std::all_of(rig.clients.begin(), rig.clients.end(), ok); }));
  rig.run(5ms);
  const auto& metrics = rig.worker->metrics();
  EXPECT_EQ(metrics.pool_misses.read(), 4U);
  EXPECT_EQ(metrics.node_connects.read(), 4U);
  EXPECT_EQ(metrics.connect_time.read().count(), 4U);
  EXPECT_EQ(metrics.pool_evicted.read(), 2U);
}

}  // namespace
}  // namespace steelyard::proxy
