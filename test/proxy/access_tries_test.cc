// Access log: whom an exchange was tried on, and what became of it there.

#include <array>
#include <gtest/gtest.h>
#include <string>

#include "test/proxy/logged.h"

namespace steelyard::proxy {
namespace {

using namespace std::chrono_literals;
using testing::Conn;
using testing::Logged;
using testing::SimClient;
using testing::SimNode;
using testing::SimRig;

constexpr std::string_view kGet = "GET / HTTP/1.1\r\nHost: t\r\n\r\n";

SimNode::Script answer(std::string text) {
  return [text = std::move(text)](SimNode&, Conn& conn) {
    std::string whole;
    while (conn.next_request(whole)) conn.send(text);
  };
}

// As Nginx lists them; a node that gave no answer is a dash.
TEST(AccessTries, EachNodeThatWasTriedIsListed) {
  for (const bool json : {false, true}) {
    SCOPED_TRACE(json);
    SimRig::Setup setup;
    setup.retry.statuses = {503};
    setup.picker = "least_connections";
    Logged logged(json ? "json" : "$attempts [$upstream_addr] [$upstream_status] $node",
                  std::move(setup));
    SimRig& rig = *logged.rig;
    rig.add_node(answer("HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n"));
    rig.add_node();
    rig.weights = {100, 1};
    rig.publish();
    const auto a = rig.nodes[0].address().to_text();
    const auto b = rig.nodes[1].address().to_text();
    SimClient& client = rig.dial();
    client.send(kGet);
    ASSERT_TRUE(rig.until([&] { return client.status() == 200; }));
    const auto first = logged.lines(1);
    rig.nodes[0].stop_listening();
    for (Conn& conn : rig.nodes[0].conns) conn.reset();
    rig.run(5ms);
    client.in.clear();
    client.send(kGet);
    ASSERT_TRUE(rig.until([&] { return client.status() == 200; }));
    const auto second = logged.lines(2).substr(first.size());
    if (!json) {
      EXPECT_EQ(first, "2 [" + a + ", " + b + "] [503, 200] b\n");
      EXPECT_EQ(second, "2 [" + a + ", " + b + "] [-, 200] b\n");
    } else {
      EXPECT_NE(first.find("\"upstream_addr\":\"" + b + "\",\"upstream_status\":200,"),
                std::string::npos)
          << first;
      EXPECT_NE(first.find("\"earlier_addr\":\"" + a + "\",\"earlier_status\":\"503\","),
                std::string::npos)
          << first;
    }
  }
}

// The Config went when the tunnel opened, and the node may be gone when it ends.
TEST(AccessTries, ATunnelIsLoggedWithItsNode) {
  SimRig::Setup setup;
  setup.upgrades = {"websocket"};
  Logged logged("$status $upstream $node $upstream_addr $pick_reason $request_uri",
                std::move(setup));
  SimRig& rig = *logged.rig;
  rig.add_node([](SimNode&, Conn& conn) {
    std::string whole;
    if (conn.next_request(whole)) {
      conn.send(
          "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
    }
  });
  const auto address = rig.nodes[0].address().to_text();
  SimClient& client = rig.dial();
  client.send("GET /chat HTTP/1.1\r\nHost: t\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
  ASSERT_TRUE(rig.until([&] { return client.status() == 101; }));
  rig.publish_config();
  rig.add_node();
  rig.listed[0] = false;
  rig.publish();
  rig.run(5ms);
  client.peer->end();
  rig.nodes[0].conns[0].end();
  const auto line = logged.lines(1);
  EXPECT_TRUE(line.starts_with("101 ")) << line;
  EXPECT_TRUE(line.ends_with(" a " + address + " round_robin /chat\n")) << line;
  EXPECT_EQ(line.find(" - "), std::string::npos) << line;
}

TEST(AccessTries, AnAnswerHeadAboveTheLimitIsCalledSo) {
  struct Row {
    std::string answer;
    std::string_view reason, text;
  };
  const std::array rows{
      Row{"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nA: " + std::string(70'000, 'x') + "\r\n\r\n",
          "answer_too_large", "502 the head of the node's answer is too large\n"},
      Row{"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n", "bad_answer",
          "502 the node's answer is malformed\n"},
  };
  for (const Row& row : rows) {
    Logged logged("$status $reason");
    SimRig& rig = *logged.rig;
    rig.add_node(answer(row.answer));
    SimClient& client = rig.dial();
    client.send(kGet);
    ASSERT_TRUE(rig.until([&] { return client.in.ends_with(row.text); }));
    EXPECT_EQ(client.body(), row.text);
    EXPECT_EQ(logged.lines(1), "502 " + std::string(row.reason) + "\n");
  }
}

}  // namespace
}  // namespace steelyard::proxy
