// Exchanges in simulated time: every cut, every death, every retry rule, both codecs.

#include <array>
#include <gtest/gtest.h>
#include <optional>

#include "test/http/fake_codec.h"
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

bool ends_with(const std::string& text, std::string_view tail) {
  return text.size() >= tail.size() &&
         text.compare(text.size() - tail.size(), tail.size(), tail) == 0;
}

TEST(Proxy, CutsAtEveryByteOfBothSidesChangeNothing) {
  constexpr std::string_view request =
      "POST /a?b=c HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: "
      "chunked\r\n\r\n5\r\nhello\r\n6;x=y\r\n world\r\n"
      "0\r\n\r\n";
  constexpr std::string_view answer =
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX-Kept: "
      "1\r\n\r\n4\r\nabcd\r\n3\r\nefg\r\n0\r\n\r\n";
  for (std::size_t cut = 1; cut < std::max(request.size(), answer.size()); ++cut) {
    SimRig rig({.seed = cut});
    rig.add_node([&](SimNode& node, Conn& conn) {
      std::string whole;
      if (conn.next_request(whole)) {
        node.seen.push_back(whole);
        conn.send(answer.substr(0, cut));
        ++node.requests;
      } else if (node.requests == 1 && conn.out.empty()) {
        ++node.requests;
        if (cut < answer.size()) conn.send(answer.substr(cut));
      }
    });
    SimClient& client = rig.dial();
    client.send(request.substr(0, cut));
    rig.run(2ms);
    if (cut < request.size()) client.send(request.substr(cut));
    ASSERT_TRUE(rig.until([&] { return ends_with(client.in, "0\r\n\r\n"); })) << cut << client.in;
    ASSERT_EQ(client.status(), 200) << cut;
    std::string body;
    for (std::string rest = client.body(); rest[0] != '0';) {
      const auto size = std::strtoul(rest.c_str(), nullptr, 16);
      body += rest.substr(rest.find("\r\n") + 2, size);
      rest.erase(0, rest.find("\r\n") + 2 + size + 2);
    }
    ASSERT_EQ(body, "abcdefg") << cut;
    ASSERT_EQ(rig.nodes[0].seen.size(), 1U);
    ASSERT_TRUE(rig.nodes[0].seen[0].starts_with("POST /a?b=c HTTP/1.1\r\nHost: t\r\n"));
    ASSERT_EQ(rig.in_flight(), 0U);
    ASSERT_EQ(rig.pooled(), 1U);
  }
}

// What the first node does to a request, at each step; the second is well.
TEST(Proxy, ANodeThatDiesAtAnyByteOfItsAnswer) {
  constexpr std::string_view answer = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfour";
  const std::size_t head = answer.find("\r\n\r\n") + 4;
  for (const bool with_reset : {false, true}) {
    for (std::size_t cut = 0; cut < answer.size(); ++cut) {
      SCOPED_TRACE(std::to_string(cut) + (with_reset ? " reset" : " end"));
      SimRig rig({.seed = cut + 1, .picker = "least_connections", .partial = false});
      unsigned died = 0;
      const auto die = [&](SimNode&, Conn& conn) {
        std::string whole;
        if (!conn.next_request(whole)) {
          if (with_reset && conn.requests == 1 && conn.out.empty() && died == 1) {
            ++died;
          } else if (with_reset && conn.requests == 1 && died == 2) {
            conn.reset();
          }
          return;
        }
        ++died;
        conn.send(answer.substr(0, cut));
        if (!with_reset) conn.end();
      };
      rig.add_node(die);
      SimClient& client = rig.dial();
      rig.run(1ms);
      client.send(kGet);
      if (cut == 0) {
        // Until the request is there only the dying node can be picked.
        ASSERT_TRUE(rig.until([&] { return died > 0; }));
        rig.add_node();
      }
      ASSERT_TRUE(rig.until([&] {
        return ends_with(client.in, "\r\n\r\nok") || client.closed() || client.status() == 502;
      }));
      rig.run(5ms);
      if (cut == 0) {
        EXPECT_EQ(client.status(), 200);
        EXPECT_EQ(rig.nodes[1].requests, 1U);
      } else if (cut < head) {
        EXPECT_EQ(client.status(), 502);
      } else {
        EXPECT_EQ(client.status(), 200) << "it is told that it was answered";
        EXPECT_FALSE(ends_with(client.in, "four"));
        EXPECT_TRUE(client.closed());
        EXPECT_EQ(rig.worker->metrics().aborted.read(), 1U);
      }
      EXPECT_EQ(rig.in_flight(), 0U);
      EXPECT_EQ(rig.cells(0).failures.read(), 1U);
      EXPECT_GE(rig.urgent, 1U);
      EXPECT_EQ(rig.worker->exchanges(), 0U);
    }
  }
}

TEST(Proxy, AClientThatDiesAtAnyByteLeavesNothingBehind) {
  constexpr std::string_view request =
      "PUT /x HTTP/1.1\r\nHost: t\r\nContent-Length: 6\r\n\r\nsixsix";
  for (std::size_t cut = 0; cut <= request.size(); ++cut) {
    SCOPED_TRACE(cut);
    SimRig rig({.seed = cut + 1});
    SimNode& node = rig.add_node([](SimNode&, Conn&) {});  // never answers
    SimClient& client = rig.dial();
    client.send(request.substr(0, cut));
    rig.run(5ms);
    client.peer->reset();
    ASSERT_TRUE(rig.until([&] { return rig.worker->connections() == 0; }, 5s));
    rig.run(5ms);
    EXPECT_EQ(rig.worker->exchanges(), 0U);
    EXPECT_EQ(rig.in_flight(), 0U);
    EXPECT_EQ(rig.pooled(), 0U);
    EXPECT_EQ(node.open(), 0U);
    EXPECT_EQ(rig.cells(0).failures.read(), 0U);
  }
}

TEST(Proxy, AClientThatLeavesInTheAnswerCancelsTheNode) {
  SimRig rig;
  SimNode& node = rig.add_node([](SimNode&, Conn& conn) {
    std::string whole;
    if (conn.next_request(whole)) conn.send("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n");
    if (conn.requests > 0 && conn.out.size() < 1000) conn.send(std::string(1000, 'x'));
  });
  SimClient& client = rig.dial();
  client.send(kGet);
  ASSERT_TRUE(rig.until([&] { return client.in.size() > 5000; }));
  client.peer->reset();
  ASSERT_TRUE(rig.until([&] { return node.open() == 0; }, 5s));
  EXPECT_EQ(rig.pooled(), 0U);
  EXPECT_EQ(rig.in_flight(), 0U);
  // The next client gets a connection of its own and the right answer.
  node.script = answer_ok;
  SimClient& next = rig.dial();
  next.send(kGet);
  ASSERT_TRUE(rig.until([&] { return ends_with(next.in, "ok"); }));
  EXPECT_EQ(node.conns.size(), 2U);
}

TEST(Proxy, ARefusingNodeCostsNoRequestWhateverTheMethod) {
  for (const std::string_view method : {"GET", "POST", "PUT", "PATCH", "DELETE"}) {
    SCOPED_TRACE(method);
    SimRig rig;
    rig.add_node();
    rig.add_node();
    rig.nodes[0].stop_listening();
    for (int i = 0; i < 4; ++i) {
      SimClient& client = rig.dial();
      client.send(std::string(method) +
                  " /x HTTP/1.1\r\nHost: t\r\nContent-Length: 5\r\n\r\nhello");
      ASSERT_TRUE(rig.until([&] { return ends_with(client.in, "ok"); }));
      EXPECT_EQ(client.status(), 200);
    }
    EXPECT_EQ(rig.nodes[1].requests, 4U);
    for (const auto& seen : rig.nodes[1].seen) EXPECT_TRUE(ends_with(seen, "\r\n\r\nhello"));
    EXPECT_GE(rig.cells(0).refused.read(), 1U);
    EXPECT_GE(rig.urgent, 1U);
    EXPECT_EQ(rig.in_flight(), 0U);
  }
}

// A reused connection dies in each of the ways of the case; GET never notices, POST is not sent
TEST(Proxy, EarlyAnswersReachAClientThatIsStillSending) {
  SimRig rig;
  rig.add_node([](SimNode&, Conn& conn) {
    if (conn.requests == 0 && conn.got > 20'000) {
      ++conn.requests;
      conn.send(
          "HTTP/1.1 413 Content Too Large\r\nConnection: close\r\nContent-Length: 3\r\n\r\nbig");
    }
    conn.in.clear();
  });
  SimClient& client = rig.dial();
  client.send("POST /x HTTP/1.1\r\nHost: t\r\nContent-Length: 50000000\r\n\r\n" +
              std::string(200'000, 'x'));
  ASSERT_TRUE(rig.until([&] { return ends_with(client.in, "big"); }, 5s));
  EXPECT_EQ(client.status(), 413);
  EXPECT_NE(client.in.find("\r\nConnection: close\r\n"), std::string::npos)
      << "the rest is too long to be thrown away, and the client should know";
  EXPECT_EQ(rig.cells(0).failures.read(), 0U);
  EXPECT_EQ(rig.in_flight(), 0U);
  ASSERT_TRUE(rig.until([&] { return rig.worker->connections() == 0; }, 20s));
}

TEST(Proxy, AnAnswerOfOursToAShortBodyKeepsTheConnection) {
  SimRig rig;
  rig.publish();  // no nodes
  SimClient& client = rig.dial();
  client.send(
      "POST /deny HTTP/1.1\r\nHost: t\r\nContent-Length: 39\r\n\r\nGET /evil HTTP/1.1\r\nHost: "
      "t\r\n\r\n12345678"
      "GET /ok HTTP/1.1\r\nHost: t\r\n\r\n");
  ASSERT_TRUE(rig.until([&] {
    return client.in.find("503", client.in.find("503 Service") + 40) != std::string::npos;
  }));
  rig.run(1s);
  EXPECT_EQ(rig.worker->metrics().answers[5].read(), 2U);  // /deny and /ok, never /evil
  EXPECT_NE(client.in.find("503 no usable node in the upstream\n"), std::string::npos);
}

TEST(Proxy, SlowReadersHoldTheOtherSideBack) {
  {
    SimRig rig;
    std::size_t sent = 0;
    rig.add_node([&](SimNode&, Conn& conn) {
      std::string whole;
      if (conn.next_request(whole)) conn.send("HTTP/1.1 200 OK\r\nContent-Length: 8000000\r\n\r\n");
      if (conn.requests == 1 && conn.out.empty() && sent < 8'000'000) {
        conn.send(std::string(10'000, 'x'));
        sent += 10'000;
      }
    });
    SimClient& client = rig.dial();
    client.reads = false;
    client.send(kGet);
    rig.run(2s);
    EXPECT_LT(sent, 700'000U);
    EXPECT_GT(sent, 100'000U);
    client.reads = true;
    ASSERT_TRUE(rig.until([&] { return client.in.size() > 8'000'000; }));
    EXPECT_EQ(rig.pooled(), 1U);
  }
  {
    SimRig rig;
    rig.add_node([&](SimNode& node, Conn& conn) {
      std::string whole;
      if (conn.next_request(whole)) ++node.requests, conn.send(kOk);
    });
    SimClient& client = rig.dial();
    client.send("POST / HTTP/1.1\r\nHost: t\r\nContent-Length: 4000000\r\n\r\n");
    ASSERT_TRUE(rig.until([&] { return !rig.nodes[0].conns.empty(); }));
    rig.nodes[0].conns[0].reads = false;
    client.send(std::string(4'000'000, 'x'));
    rig.run(2s);
    EXPECT_GT(client.out.size(), 3'300'000U);
    rig.nodes[0].conns[0].reads = true;
    ASSERT_TRUE(rig.until([&] { return ends_with(client.in, "ok"); }));
  }
}

TEST(Proxy, ABodyMayRunFurtherAheadWhileItsTakerKeepsUp) {
  SimRig::Setup setup;
  setup.partial = false;
  setup.receive_buffer = setup.socket_buffer = 256 << 10;
  SimRig rig(setup);
  rig.add_node([](SimNode& node, Conn& conn) {
    std::string whole;
    if (!conn.next_request(whole)) return;
    ++node.requests;
    conn.send("HTTP/1.1 200 OK\r\nContent-Length: 4000000\r\n\r\n" + std::string(4'000'000, 'x'));
  });
  SimClient& client = rig.dial();
  client.send(kGet);
  ASSERT_TRUE(rig.until([&] { return rig.worker->widened() > 0; }));
  client.reads = false;
  rig.run(1s);
  client.reads = true;
  ASSERT_TRUE(rig.until([&] { return client.in.size() > 4'000'000; }));
  EXPECT_EQ(rig.worker->widened(), 0U);

  client.in.clear();
  client.send("POST / HTTP/1.1\r\nHost: t\r\nContent-Length: 1000000\r\n\r\n" +
              std::string(1'000'000, 'x'));
  ASSERT_TRUE(rig.until([&] { return rig.worker->widened() > 0; }));
  client.peer->reset();
  ASSERT_TRUE(rig.until([&] { return rig.worker->connections() == 0; }));
  EXPECT_EQ(rig.worker->widened(), 0U);
}

TEST(Proxy, TwoStreamsOfOneConnectionAreTwoExchanges) {
  SimRig::Setup setup;
  http::testing::FakeCodec* codec = nullptr;
  setup.server_codec = [&](http::CodecEvents& events) {
    auto made = std::make_unique<http::testing::FakeCodec>(events);
    codec = made.get();
    return made;
  };
  SimRig rig(setup);
  rig.add_node([](SimNode& node, Conn& conn) {
    std::string whole;
    while (conn.next_request(whole)) {
      node.seen.push_back(whole);
      ++node.requests;
      const std::string body = whole.substr(whole.find("\r\n\r\n") + 4);
      conn.send("HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
                body);
    }
  });
  rig.dial();
  ASSERT_TRUE(rig.until([&] { return codec != nullptr; }));
  rig.run(1ms);
  http::Head head;
  head.method = http::Method::kPut;
  head.method_text = "PUT";
  head.path = "/two";
  head.authority = "t";
  head.body = http::Body::kLength;
  head.length = 6;
  const auto one = http::StreamId{1}, two = http::StreamId{2};
  codec->peer_head(one, head);
  head.length = 600;
  codec->peer_head(two, head);
  codec->peer_body(one, "one");
  codec->peer_body(two, "two two");
  EXPECT_EQ(rig.worker->exchanges(), 2U);
  rig.run(5ms);
  codec->peer_body(one, "one");
  codec->peer_end(one);
  ASSERT_TRUE(rig.until([&] { return codec->sent(one).ended; }));
  EXPECT_EQ(codec->sent(one).body, "oneone");
  EXPECT_EQ(codec->sent(one).granted, 6U);
  EXPECT_FALSE(codec->sent(two).ended);
  EXPECT_EQ(rig.worker->exchanges(), 1U);
  codec->peer_reset(two, http::Why::kCancelled);
  rig.run(5ms);
  EXPECT_EQ(rig.worker->exchanges(), 0U);
  EXPECT_EQ(rig.in_flight(), 0U);
  EXPECT_EQ(rig.pooled(), 1U);  // of the first; the second's was given up in its middle
  // Both again, the second answered by us.
  rig.listed[0] = false;
  rig.publish();
  rig.run(1ms);
  head.body = http::Body::kNone;
  head.method = http::Method::kGet;
  codec->peer_head(two, head);
  EXPECT_EQ(codec->sent(two).status, 503);
  EXPECT_TRUE(codec->sent(two).ended);
  EXPECT_EQ(rig.worker->connections(), 1U);
}

}  // namespace
}  // namespace steelyard::proxy
