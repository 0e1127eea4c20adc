// Cases from the field about framing, interim answers, trailers and streams, through the whole
// worker.

#include <gtest/gtest.h>
#include <optional>

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

std::string get(std::string_view path, std::string_view fields = "") {
  return "GET " + std::string(path) + " HTTP/1.1\r\nHost: t\r\n" + std::string(fields) + "\r\n";
}

// Answers `text`, and `ok` for /x.
SimNode::Script answers(std::string text, bool and_ends = false) {
  return [text = std::move(text), and_ends](SimNode& node, Conn& conn) {
    std::string whole;
    while (conn.next_request(whole)) {
      ++node.requests;
      node.seen.push_back(whole);
      const bool plain = whole.starts_with("GET /x ");
      conn.send(plain ? kOk : std::string_view(text));
      if (and_ends && !plain) conn.end();
    }
  };
}

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST(Cases, RSP_01_NobodyWaitsForABodyThatCannotCome) {
  struct Row {
    std::string_view text, field;
    bool kept;  // the field
  };
  for (const Row& row :
       {Row{"HTTP/1.1 304 Not Modified\r\nContent-Length: 1234\r\nETag: \"x\"\r\n\r\n",
            "Content-Length: 1234\r\n", true},
        Row{"HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n", "Content-Length", false}}) {
    SCOPED_TRACE(row.text);
    SimRig rig;
    rig.add_node(answers(std::string(row.text)));
    SimClient& client = rig.dial();
    const auto from = rig.now();
    client.send(get("/a"));
    ASSERT_TRUE(rig.until([&] { return client.in.ends_with("\r\n\r\n"); }));
    EXPECT_LT(rig.now() - from, 50ms);
    EXPECT_EQ(has(client.in, row.field), row.kept) << client.in;
    client.in.clear();
    client.send(kGet);
    ASSERT_TRUE(rig.until([&] { return client.in.ends_with("ok"); }));
    EXPECT_EQ(rig.nodes[0].conns.size(), 1U) << "the connection is used again";
  }
}

TEST(Cases, RSP_02_AnAnswerToHeadHasALengthAndNoBody) {
  for (const std::string_view framing : {"Content-Length: 5000", "Transfer-Encoding: chunked"}) {
    SCOPED_TRACE(framing);
    SimRig rig;
    rig.add_node(answers(
        "HTTP/1.1 200 OK\r\n" + std::string(framing) + "\r\nConnection: close\r\n\r\n", true));
    SimClient& client = rig.dial();
    client.send("HEAD /a HTTP/1.1\r\nHost: t\r\n\r\n" + std::string(kGet));
    ASSERT_TRUE(rig.until([&] { return client.in.ends_with("ok"); })) << client.in;
    const auto second = client.in.find("HTTP/1.1 200 OK", 1);
    const auto first = client.in.substr(0, second);
    EXPECT_TRUE(first.ends_with("\r\n\r\n")) << first;
    if (framing.starts_with("Content")) {
      EXPECT_TRUE(has(first, "Content-Length: 5000\r\n")) << first;
    } else {
      EXPECT_FALSE(has(first, "Content-Length")) << first;
    }
    EXPECT_EQ(rig.cells(0).failures.read(), 0U);
    EXPECT_EQ(rig.cells(0).successes.read(), 2U);
  }
}

TEST(Cases, RSP_04_A304GetsNoFramingFromUs) {
  SimRig rig;
  rig.add_node(answers("HTTP/1.1 304 Not Modified\r\nETag: \"x\"\r\n\r\n"));
  SimClient& client = rig.dial();
  client.send(get("/a"));
  ASSERT_TRUE(rig.until([&] { return client.in.ends_with("\r\n\r\n"); }));
  EXPECT_FALSE(has(client.in, "Content-Length"));
  EXPECT_FALSE(has(client.in, "Transfer-Encoding"));
  client.in.clear();
  client.send(kGet);
  ASSERT_TRUE(rig.until([&] { return client.in.ends_with("ok"); }));
}

TEST(Cases, RSP_08_ABlankBeforeAColonGoesOut) {
  SimRig rig;
  rig.add_node(answers("HTTP/1.1 200 OK\r\nContent-Length : 5\r\nX-A\t: b\r\n\r\nhello"));
  SimClient& client = rig.dial();
  client.send(get("/a"));
  ASSERT_TRUE(rig.until([&] { return client.in.ends_with("hello"); }));
  EXPECT_TRUE(has(client.in, "\r\nContent-Length: 5\r\n")) << client.in;
  EXPECT_TRUE(has(client.in, "\r\nX-A: b\r\n")) << client.in;
}

// The outer proxy's node is the inner proxy.
TEST(Cases, RSP_10_HintsPassAChainAndStayApart) {
  SimRig inner;
  inner.add_node(answers("HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n" +
                         std::string(kOk)));
  SimRig outer;
  std::vector<SimClient*> hops;
  outer.add_node([&](SimNode&, Conn& conn) {
    if (conn.in.empty() && hops.empty()) return;
    if (hops.empty()) hops.push_back(&inner.dial());
    hops[0]->send(std::exchange(conn.in, {}));
    inner.run(5ms);
    conn.send(std::exchange(hops[0]->in, {}));
  });
  SimClient& client = outer.dial();
  client.send(get("/a"));
  ASSERT_TRUE(outer.until([&] { return client.in.ends_with("ok"); }, 5s)) << client.in;
  EXPECT_TRUE(client.in.starts_with("HTTP/1.1 103 Early Hints\r\nLink: </a.css>")) << client.in;
  const auto last = client.in.find("HTTP/1.1 200 OK");
  ASSERT_NE(last, std::string::npos);
  EXPECT_EQ(client.in.find("Link:", last), std::string::npos);
}

TEST(Cases, RSP_11_TrailersGoToWhoTakesThemAndTheWishIsPassedOn) {
  constexpr std::string_view kTrailed =
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n2\r\nhi\r\n0\r\n"
      "X-Sum: 9\r\n\r\n";
  struct Row {
    std::string_view name, fields;
    bool takes;
  };
  for (const Row& row : {Row{"as RFC 9110 has it", "TE: trailers\r\nConnection: TE\r\n", true},
                         Row{"in a list", "TE: gzip;q=0.5, Trailers\r\nConnection: TE\r\n", true},
                         Row{"without Connection", "TE: trailers\r\n", true},
                         Row{"another word", "TE: no-trailers\r\nConnection: TE\r\n", false},
                         Row{"not at all", "", false}}) {
    SCOPED_TRACE(row.name);
    SimRig rig;
    rig.add_node(answers(std::string(kTrailed)));
    SimClient& client = rig.dial();
    client.send(get("/a", row.fields));
    ASSERT_TRUE(rig.until([&] {
      return has(client.in, "0\r\n") && client.in.ends_with("\r\n\r\n") && has(client.in, "hi");
    }));
    EXPECT_EQ(has(client.in, "\r\nX-Sum: 9\r\n"), row.takes) << client.in;
    const auto& seen = rig.nodes[0].seen.at(0);
    EXPECT_EQ(has(seen, "\r\nTE: trailers\r\n"), row.takes) << seen;
    EXPECT_EQ(has(seen, "\r\nConnection: TE\r\n"), row.takes) << seen;
    EXPECT_FALSE(has(seen, "gzip")) << seen;
    client.in.clear();
    client.send(kGet);
    ASSERT_TRUE(rig.until([&] { return client.in.ends_with("ok"); }));
    EXPECT_EQ(rig.nodes[0].conns.size(), 1U) << "the connection is used again";
  }
}

TEST(Cases, RSP_11_TrailersOfARequestReachTheNode) {
  SimRig rig;
  std::string got;
  rig.add_node([&](SimNode&, Conn& conn) {
    got += std::exchange(conn.in, {});
    if (got.ends_with("X-Sum: 9\r\n\r\n") && conn.requests == 0) {
      ++conn.requests;
      conn.send(kOk);
    }
  });
  SimClient& client = rig.dial();
  client.send(
      "POST /x HTTP/1.1\r\nHost: t\r\nTE: trailers\r\nConnection: TE\r\n"
      "Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\nX-Sum: 9\r\n\r\n");
  ASSERT_TRUE(rig.until([&] { return client.in.ends_with("ok"); })) << got;
  EXPECT_TRUE(has(got, "Transfer-Encoding: chunked\r\nConnection: TE\r\n\r\n")) << got;
}

constexpr std::string_view kExpects =
    "POST /x HTTP/1.1\r\nHost: t\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n";

TEST(Cases, RSP_14_A100IsRelayedAndThenTheBodyGoes) {
  SimRig rig;
  rig.add_node([](SimNode& node, Conn& conn) {
    if (conn.requests == 0 && has(conn.in, "\r\n\r\n")) {
      EXPECT_TRUE(has(conn.in, "Expect: 100-continue"));
      ++conn.requests;
      conn.send("HTTP/1.1 100 Continue\r\n\r\n");
    }
    if (conn.requests == 1 && conn.in.ends_with("hello")) {
      ++conn.requests;
      ++node.requests;
      conn.send(kOk);
    }
  });
  SimClient& client = rig.dial();
  client.send(kExpects);
  ASSERT_TRUE(rig.until([&] { return client.in == "HTTP/1.1 100 Continue\r\n\r\n"; }, 1s))
      << client.in;
  client.in.clear();
  client.send("hello");
  ASSERT_TRUE(rig.until([&] { return client.in.ends_with("ok"); }));
  EXPECT_EQ(client.status(), 200);
}

TEST(Cases, RSP_14_AFinalAnswerInsteadOfA100Ends) {
  for (const int status : {417, 401}) {
    SCOPED_TRACE(status);
    SimRig rig;
    rig.add_node([&](SimNode&, Conn& conn) {
      if (conn.requests > 0 || !has(conn.in, "\r\n\r\n")) return;
      ++conn.requests;
      conn.send("HTTP/1.1 " + std::to_string(status) + " No\r\nContent-Length: 2\r\n\r\nno");
    });
    SimClient& client = rig.dial();
    client.send(kExpects);
    ASSERT_TRUE(rig.until([&] { return client.in.ends_with("no"); }, 1s));
    EXPECT_EQ(client.status(), status);
    // Whether the five bytes come or a new request cannot be known: the connection ends, in peace.
    ASSERT_TRUE(rig.until([&] { return client.closed(); }, 10s));
    EXPECT_FALSE(client.peer->was_reset());
    EXPECT_EQ(rig.pooled(), 0U) << "the node may still wait for the body";
    EXPECT_EQ(rig.cells(0).failures.read(), 0U);
  }
}

TEST(Cases, RSP_16_ABigAnswerHeadIsNoIllnessOfTheNode) {
  for (const std::size_t size : {3'900U, 31'000U, 60'000U, 70'000U, 1'000'000U}) {
    SCOPED_TRACE(size);
    SimRig rig;
    rig.add_node(answers("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nSet-Cookie: " +
                         std::string(size, 'c') + "\r\n\r\nhi"));
    SimClient& client = rig.dial();
    client.send(get("/a"));
    ASSERT_TRUE(rig.until([&] { return client.in.ends_with("hi") || client.status() == 502; }));
    EXPECT_EQ(client.status(), size < 65'000 ? 200 : 502);
    EXPECT_EQ(rig.cells(0).failures.read(), 0U);
    rig.run(10ms);
    EXPECT_EQ(rig.in_flight(), 0U);
  }
}

TEST(Cases, FRM_15_AnOldClientGetsPlainBytesToTheEnd) {
  SimRig rig;
  rig.add_node(answers(
      "HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
      "2\r\nhi\r\n3\r\n ho\r\n0\r\nX-Sum: 9\r\n\r\n"));
  for (const std::string_view fields : {"", "Connection: keep-alive\r\n"}) {
    SimClient& client = rig.dial();
    client.send("GET / HTTP/1.0\r\n" + std::string(fields) + "\r\n");
    ASSERT_TRUE(rig.until([&] { return client.closed(); }));
    EXPECT_TRUE(client.in.starts_with("HTTP/1.1 200 OK\r\n")) << client.in;
    EXPECT_EQ(client.body(), "hi ho");
    EXPECT_FALSE(has(client.in, "Transfer-Encoding"));
    EXPECT_FALSE(client.peer->was_reset());
  }
  // A length is enough to keep the connection where the client asks for it.
  SimClient& client = rig.dial();
  for (int i = 0; i < 2; ++i) {
    client.in.clear();
    client.send("GET /x HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    ASSERT_TRUE(rig.until([&] { return client.in.ends_with("ok"); }));
    EXPECT_TRUE(has(client.in, "Connection: keep-alive\r\n")) << client.in;
  }
  // It need not say Host, which nodes of HTTP/1.1 must get.
  EXPECT_TRUE(has(rig.nodes[0].seen.back(), "\r\nHost: " + rig.address.to_text() + "\r\n"))
      << rig.nodes[0].seen.back();
}

TEST(Cases, FRM_16_AHeadThatDripsEndsWith408) {
  SimRig rig;
  rig.add_node();
  SimClient& client = rig.dial();
  const std::string head = get("/slow", "Cookie: " + std::string(4000, 'c') + "\r\n");
  for (std::size_t i = 0; i < 12 && client.status() == 0; ++i) {
    client.send(head.substr(i, 1));
    rig.run(1s, 50ms);
  }
  EXPECT_EQ(client.status(), 408) << client.in;
  EXPECT_EQ(rig.nodes[0].requests, 0U);
}

TEST(Cases, KAL_04_TheRestOfAnAnswerNeverReachesTheNextClient) {
  SimRig rig;
  rig.add_node([](SimNode& node, Conn& conn) {
    std::string whole;
    while (conn.next_request(whole)) {
      ++node.requests;
      conn.send(whole.starts_with("GET /x ")
                    ? std::string(kOk)
                    : "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n" +
                          std::string(1'000'000, 'b'));
    }
  });
  SimClient& leaves = rig.dial();
  leaves.reads = false;
  leaves.send(get("/big"));
  rig.run(5ms);
  EXPECT_FALSE(leaves.peer->read(1000).empty());
  leaves.peer->reset();
  rig.run(20ms);
  EXPECT_EQ(rig.pooled(), 0U);
  SimClient& next = rig.dial();
  next.send(kGet);
  ASSERT_TRUE(rig.until([&] { return next.in.ends_with("ok"); }));
  EXPECT_TRUE(next.in.starts_with("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n")) << next.in;
  EXPECT_EQ(rig.nodes[0].conns.size(), 2U);
}

TEST(Cases, HDR_01_FieldsOfOneConnectionStayOnIt) {
  constexpr std::string_view kOwn =
      "Connection: X-Secret, , keep-Alive\r\nConnection: x-OTHER,\r\nX-Secret: 1\r\n"
      "x-other: 2\r\nKeep-Alive: timeout=5\r\nProxy-Connection: x\r\nTE: gzip\r\nX-Stays: 3\r\n";
  SimRig rig;
  rig.add_node(answers("HTTP/1.1 200 OK\r\n" + std::string(kOwn) + "Content-Length: 2\r\n\r\nhi"));
  SimClient& client = rig.dial();
  client.send(get("/a", kOwn));
  ASSERT_TRUE(rig.until([&] { return client.in.ends_with("hi"); }));
  for (const auto& text : {rig.nodes[0].seen.at(0), client.in}) {
    for (const std::string_view name :
         {"X-Secret", "x-other", "Keep-Alive", "Proxy-Connection", "TE:", "gzip"}) {
      EXPECT_FALSE(has(text, name)) << name << text;
    }
    EXPECT_TRUE(has(text, "X-Stays: 3\r\n")) << text;
  }
}

TEST(Cases, DRN_06_AnEventStreamPassesPieceByPiece) {
  for (const std::string_view framing : {"Transfer-Encoding: chunked\r\n", ""}) {
    SCOPED_TRACE(framing);
    const bool chunked = !framing.empty();
    SimRig rig({.partial = false});
    std::optional<base::TimePoint> next;
    int events = 0;
    rig.add_node([&](SimNode&, Conn& conn) {
      std::string whole;
      if (conn.next_request(whole)) {
        conn.send("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n" + std::string(framing) +
                  "\r\n");
        next = rig.now() + 5s;
      } else if (next && rig.now() >= *next) {
        ++events;
        *next += 1s;
        conn.send(chunked ? "9\r\ndata: x\n\n\r\n" : "data: x\n\n");
      }
    });
    SimClient& client = rig.dial();
    const auto from = rig.now();
    client.send(get("/events"));
    ASSERT_TRUE(rig.until([&] { return client.in.ends_with("\r\n\r\n"); }, 50ms)) << client.in;
    EXPECT_EQ(client.status(), 200);
    rig.run(4900ms - (rig.now() - from), 10ms);
    EXPECT_EQ(events, 0);
    for (int i = 1; i <= 5; ++i) {
      client.in.clear();
      ASSERT_TRUE(rig.until([&] { return events == i; }, 2s));
      ASSERT_TRUE(rig.until([&] { return has(client.in, "data: x\n\n"); }, 50ms)) << client.in;
    }
    EXPECT_FALSE(client.closed());
  }
}

}  // namespace
}  // namespace steelyard::proxy
