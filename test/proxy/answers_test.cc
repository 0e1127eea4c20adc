// How answers, retries and upgrades reach a client: cases from the field, in simulated time.

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

constexpr std::string_view kGet = "GET /x HTTP/1.1\r\nHost: t\r\n\r\n";
constexpr std::string_view kUpgrade =
    "GET /chat HTTP/1.1\r\nHost: t\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";

// Answers each request with the same bytes; a plain GET for /x with `ok`.
SimNode::Script answers(std::string text) {
  return [text = std::move(text)](SimNode& node, Conn& conn) {
    std::string whole;
    while (conn.next_request(whole)) {
      ++node.requests;
      node.seen.push_back(whole);
      conn.send(whole.starts_with("GET /x ") ? kOk : std::string_view(text));
    }
  };
}

TEST(Cases, LCN_03_TheGaugesAreZeroAfterFiveHundredRefusedConnects) {
  SimRig rig({.rules = {.retry_budget = std::nullopt}});
  rig.add_node().stop_listening();
  rig.add_node();
  for (int i = 0; i < 500; ++i) {
    SimClient& client = rig.dial();
    client.send("GET /x HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n");
    ASSERT_TRUE(rig.until([&] { return client.in.ends_with("ok"); }));
    client.peer->end();
  }
  rig.run(50ms);
  EXPECT_EQ(rig.slots.in_flight(rig.refs[0]), 0U);
  EXPECT_EQ(rig.slots.in_flight(rig.refs[1]), 0U);
  EXPECT_EQ(rig.worker->metrics().exchanges.read(), 0U);
  EXPECT_EQ(rig.cells(0).refused.read(), rig.worker->metrics().retries.read());
}

TEST(Cases, RTY_08_ABodyOfUnknownLengthIsKeptAsLongAsItFits) {
  SimRig rig;
  rig.add_node().stop_listening();
  rig.add_node();
  const std::string piece(500, 'Z');
  const std::string body = "1f4\r\n" + piece + "\r\n1f4\r\n" + piece + "\r\n0\r\n\r\n";
  for (int i = 0; i < 2; ++i) {  // one of the two begins at the node that refuses
    SimClient& client = rig.dial();
    client.send("PUT /x HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n" + body);
    ASSERT_TRUE(rig.until([&] { return client.in.ends_with("ok"); }));
  }
  EXPECT_EQ(rig.worker->metrics().retries.read(), 1U);
  for (const auto& seen : rig.nodes[1].seen) {
    EXPECT_EQ(std::count(seen.begin(), seen.end(), 'Z'), 1000) << seen;
  }
  // A client that promises much and leaves: nothing is sent again.
  SimClient& client = rig.dial();
  client.send("PUT /x HTTP/1.1\r\nHost: t\r\nContent-Length: 1000000\r\n\r\n0123456789");
  rig.run(10ms);
  client.peer->end();
  rig.run(50ms);
  EXPECT_EQ(rig.nodes[1].requests, 2U);
  EXPECT_EQ(rig.in_flight(), 0U);
}

TEST(Cases, KAL_08_AnAnswerOfOursDoesNotLetABodyBecomeARequest) {
  SimRig rig({.rules = {.limits = {}, .queue = {.size = 0}}});
  rig.add_node();
  rig.listed[0] = false;
  rig.publish();
  SimClient& client = rig.dial();
  client.send(
      "POST /deny HTTP/1.1\r\nHost: t\r\nContent-Length: 39\r\n\r\n"
      "GET /evil HTTP/1.1\r\nHost: t\r\n\r\n12345678");
  ASSERT_TRUE(rig.until([&] { return client.status() == 503; }));
  rig.listed[0] = true;
  rig.publish();
  client.in.clear();
  client.send("GET /ok HTTP/1.1\r\nHost: t\r\n\r\n");
  ASSERT_TRUE(rig.until([&] { return client.in.ends_with("ok") || client.closed(); }));
  for (const auto& seen : rig.nodes[0].seen) EXPECT_TRUE(seen.starts_with("GET /ok")) << seen;
}

TEST(Cases, RSP_05_ACutAnswerNeverLooksComplete) {
  struct Row {
    std::string_view name, text;
    bool reset;
  };
  constexpr std::string_view kChunks =
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n3\r\ndef\r\n";
  constexpr std::string_view kHalf = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n0123456789";
  for (const Row& row : {Row{"chunks, FIN", kChunks, false}, Row{"chunks, RST", kChunks, true},
                         Row{"a length, FIN", kHalf, false}, Row{"a length, RST", kHalf, true}}) {
    SCOPED_TRACE(row.name);
    SimRig rig({.retry = {.attempts = 2, .statuses = {502}}});
    for (int i = 0; i < 2; ++i) {
      rig.add_node([&](SimNode& node, Conn& conn) {
        std::string whole;
        if (conn.next_request(whole)) {
          ++node.requests;
          conn.send(row.text);
          if (!row.reset) conn.end();
        } else if (row.reset && conn.requests > 0 && conn.out.empty()) {
          conn.reset();
        }
      });
    }
    SimClient& client = rig.dial();
    client.send(kGet);
    ASSERT_TRUE(rig.until([&] { return client.closed(); }));
    EXPECT_EQ(client.in.find("\n0\r\n\r\n"), std::string::npos) << client.in;
    EXPECT_TRUE(client.peer->was_reset() || client.in.size() < row.text.size() + 60);
    EXPECT_EQ(rig.nodes[0].requests + rig.nodes[1].requests, 1U);
    EXPECT_EQ(rig.worker->metrics().aborted.read(), 1U);
  }
}

TEST(Cases, RSP_09_EarlyHintsAreNoAnswer) {
  constexpr std::string_view kHints =
      "HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n";
  SimRig rig;
  rig.add_node(answers(std::string(kHints) + std::string(kHints) + std::string(kOk)));
  SimClient& client = rig.dial();
  client.send("GET /hints HTTP/1.1\r\nHost: t\r\n\r\n");
  ASSERT_TRUE(rig.until([&] { return client.in.ends_with("ok"); }));
  const auto first = client.in.find("103 Early Hints");
  const auto second = client.in.find("103 Early Hints", first + 1);
  const auto last = client.in.find("HTTP/1.1 200 OK");
  EXPECT_LT(first, second);
  EXPECT_LT(second, last);
  EXPECT_EQ(client.in.find("Link:", last),
            std::string::npos);  // RSP-10: hints are not the answer's
  EXPECT_EQ(rig.worker->metrics().answers[2].read(), 1U);
  EXPECT_EQ(rig.worker->metrics().answers[1].read(), 0U);
  SimClient& old = rig.dial();
  old.send("GET /hints HTTP/1.0\r\n\r\n");
  ASSERT_TRUE(rig.until([&] { return old.in.ends_with("ok"); }));
  EXPECT_EQ(old.in.find("103"), std::string::npos);
}

TEST(Cases, RSP_13_AnEarlyAnswerIsNoFailureOfTheNode) {
  SimRig rig({.retry = {.attempts = 2, .statuses = {503}}});
  rig.add_node([](SimNode& node, Conn& conn) {
    if (conn.got < 64'000 || conn.requests > 0) return;
    ++conn.requests;
    ++node.requests;
    conn.reads = false;
    conn.send("HTTP/1.1 413 Too Big\r\nConnection: close\r\nContent-Length: 3\r\n\r\nbig");
  });
  SimClient& client = rig.dial();
  client.send("POST /up HTTP/1.1\r\nHost: t\r\nContent-Length: 5000000\r\n\r\n" +
              std::string(1'000'000, 'u'));
  ASSERT_TRUE(rig.until([&] { return client.in.ends_with("big"); }));
  EXPECT_EQ(client.status(), 413);
  rig.run(10ms);
  EXPECT_EQ(rig.cells(0).failures.read(), 0U);
  EXPECT_EQ(rig.cells(0).successes.read(), 1U);
  EXPECT_EQ(rig.in_flight(), 0U);
}

TEST(Cases, UPG_02_AnAnswerThatForgetsConnectionIsRepaired) {
  SimRig rig({.upgrades = {"websocket"}});
  rig.add_node(answers("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n"));
  SimClient& client = rig.dial();
  client.send(kUpgrade);
  ASSERT_TRUE(rig.until([&] { return client.status() == 101; }));
  EXPECT_NE(client.in.find("Upgrade: websocket\r\n"), std::string::npos) << client.in;
  EXPECT_NE(client.in.find("Connection: "), std::string::npos) << client.in;
  // A protocol that nobody asked for is a mistake, and not tried elsewhere.
  SimRig other({.upgrades = {"websocket"}});
  for (int i = 0; i < 2; ++i) {
    other.add_node(
        answers("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n"
                "Upgrade: irc\r\n\r\n"));
  }
  SimClient& wrong = other.dial();
  wrong.send(kUpgrade);
  ASSERT_TRUE(other.until([&] { return wrong.status() != 0; }));
  EXPECT_EQ(wrong.status(), 502);
  EXPECT_EQ(other.nodes[0].requests + other.nodes[1].requests, 1U);
}

TEST(Cases, UPG_03_ADeclinedUpgradeIsAPlainAnswer) {
  for (const std::string_view text :
       {"HTTP/1.1 302 Found\r\nLocation: /l\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 400 Bad\r\nContent-Length: 4\r\n\r\noops",
        "HTTP/1.1 503 No\r\nContent-Length: 4\r\n\r\noops",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n"}) {
    SCOPED_TRACE(text);
    SimRig rig({.retry = {.attempts = 2, .statuses = {400, 503}}, .upgrades = {"websocket"}});
    for (int i = 0; i < 2; ++i) rig.add_node(answers(std::string(text)));
    SimClient& client = rig.dial();
    client.send(kUpgrade);
    rig.run(20ms);
    EXPECT_EQ(client.status(), std::atoi(text.data() + 9));
    EXPECT_EQ(rig.nodes[0].requests + rig.nodes[1].requests, 1U);
    client.in.clear();
    client.send(kGet);
    ASSERT_TRUE(rig.until([&] { return client.in.ends_with("ok"); }));
    EXPECT_EQ(rig.worker->metrics().tunnels.read(), 0U);
  }
}

TEST(Cases, UPG_04_UpgradeIsSentOnlyWhenAskedFor) {
  struct Row {
    std::string_view name, request;
    bool passed;
  };
  for (const Row& row :
       {Row{"a plain GET", "GET /a HTTP/1.1\r\nHost: t\r\n\r\n", false},
        Row{"a token with a version",
            "GET /a HTTP/1.1\r\nHost: t\r\nConnection: keep-alive, Upgrade\r\nUpgrade: "
            "foo/2\r\n\r\n",
            true},
        Row{"h2c", "GET /a HTTP/1.1\r\nHost: t\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n",
            false},
        Row{"without Connection", "GET /a HTTP/1.1\r\nHost: t\r\nUpgrade: foo/2\r\n\r\n", false},
        Row{"HTTP/1.0",
            "GET /a HTTP/1.0\r\nHost: t\r\nConnection: Upgrade\r\nUpgrade: foo/2\r\n\r\n",
            false}}) {
    SCOPED_TRACE(row.name);
    SimRig rig({.upgrades = {"foo/2", "h2c"}});
    rig.add_node(answers(std::string(kOk)));
    SimClient& client = rig.dial();
    client.send(row.request);
    ASSERT_TRUE(rig.until([&] { return client.in.ends_with("ok"); }));
    EXPECT_EQ(rig.nodes[0].seen.at(0).find("Upgrade: foo/2") != std::string::npos, row.passed);
    EXPECT_EQ(rig.nodes[0].seen.at(0).find("h2c"), std::string::npos);
  }
}

TEST(Trace, IsContinuedOrBegunWhereTheRouteWantsIt) {
  constexpr std::string_view kTraced =
      "GET /x HTTP/1.1\r\nHost: t\r\ntraceparent: "
      "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\r\ntracestate: a=b\r\n\r\n";
  const auto seen = [](bool wanted, std::string_view request) {
    SimRig rig(
        {.trace = wanted ? std::optional(request::TraceOptions{.sample = 1}) : std::nullopt});
    rig.add_node();
    SimClient& client = rig.dial();
    client.send(request);
    EXPECT_TRUE(rig.until([&] { return client.in.ends_with("ok"); }));
    return rig.nodes[0].seen.at(0);
  };
  const auto id = [](const std::string& head) {
    const auto at = head.find("traceparent: 00-");
    return at == std::string::npos ? "" : head.substr(at + 16, 32);
  };
  const auto through = seen(false, kTraced);
  EXPECT_NE(through.find("-b7ad6b7169203331-01\r\n"), std::string::npos);
  const auto continued = seen(true, kTraced);
  EXPECT_EQ(id(continued), "0af7651916cd43dd8448eb211c80319c");
  EXPECT_EQ(continued.find("b7ad6b7169203331"), std::string::npos);
  EXPECT_NE(continued.find("tracestate: a=b"), std::string::npos);
  EXPECT_EQ(id(seen(false, kGet)), "");
  const auto begun = seen(true, kGet);
  EXPECT_EQ(id(begun).find_first_not_of("0123456789abcdef"), std::string::npos);
  EXPECT_EQ(id(begun).size(), 32U);
  EXPECT_NE(begun.find("-01\r\n"), std::string::npos);
}

// RFC 9110 6.6.1. The rig's time begins at noon.
TEST(OwnAnswers, SayWhenTheyWereMade) {
  for (const std::string_view request :
       {"GET / HTTP/1.1\r\n\r\n", "GET / HTTP/1.1\r\nHost: t\r\n\r\n"}) {
    SimRig rig;
    rig.add_node();
    rig.listed[0] = false;
    rig.publish();
    rig.run(2s);
    SimClient& client = rig.dial();
    client.send(request);
    ASSERT_TRUE(rig.until([&] { return client.in.ends_with("\n") && !client.body().empty(); }));
    EXPECT_NE(client.in.find("\r\nDate: Sun, 01 Mar 2026 12:00:0"), std::string::npos) << client.in;
    EXPECT_EQ(client.in.find("\r\n\r\nDate"), std::string::npos);
  }
}

}  // namespace
}  // namespace steelyard::proxy
