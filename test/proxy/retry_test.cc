// What is tried again and what is not, as cases from the field, in simulated time.

#include <algorithm>
#include <array>
#include <functional>
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

bool ends_with(const std::string& text, std::string_view tail) {
  return text.size() >= tail.size() &&
         text.compare(text.size() - tail.size(), tail.size(), tail) == 0;
}

TEST(Cases, RTY_02_TheMethodDecidesNotTheBody) {
  struct Row {
    std::string_view method;
    unsigned arrivals;
  };
  constexpr std::array rows{Row{"POST", 1}, Row{"PATCH", 1}, Row{"BREW", 1},   Row{"GET", 2},
                            Row{"HEAD", 2}, Row{"PUT", 2},   Row{"DELETE", 2}, Row{"OPTIONS", 2}};
  for (const Row& row : rows) {
    SCOPED_TRACE(row.method);
    SimRig rig;
    unsigned arrivals = 0;
    const auto break_off = [&](SimNode&, Conn& conn) {
      std::string whole;
      if (!conn.next_request(whole)) return;
      ++arrivals;
      conn.reset();
    };
    for (int i = 0; i < 3; ++i) rig.add_node(break_off);
    SimClient& client = rig.dial();
    client.send(std::string(row.method) + " /pay HTTP/1.1\r\nHost: t\r\nContent-Length: 0\r\n\r\n");
    ASSERT_TRUE(rig.until([&] { return client.status() == 502; }));
    rig.run(1s);
    EXPECT_EQ(arrivals, row.arrivals);
  }
}

// An interim answer is no answer yet: what fails after it is told with a status, and not tried
// again.
TEST(Retry, AfterAnInterimAnswerAFailureStillGetsItsStatus) {
  SimRig rig;
  unsigned arrivals = 0;
  const auto hints_and_breaks = [&](SimNode&, Conn& conn) {
    std::string whole;
    if (!conn.next_request(whole)) return;
    ++arrivals;
    conn.send("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n");
    conn.end();
  };
  for (int i = 0; i < 2; ++i) rig.add_node(hints_and_breaks);
  SimClient& client = rig.dial();
  client.send(kGet);
  ASSERT_TRUE(rig.until([&] { return client.in.find("HTTP/1.1 502 ") != std::string::npos; }));
  EXPECT_EQ(client.in.rfind("HTTP/1.1 103 ", 0), 0U) << client.in;
  EXPECT_EQ(arrivals, 1U);
}

TEST(Cases, RTY_03_ABlackHoleCostsOneConnectTimeout) {
  SimRig rig({.picker = "least_connections"});
  rig.add_node();
  rig.add_node();
  rig.weights = {100, 1};
  rig.publish();
  rig.sim->blackhole(rig.nodes[0].address());
  for (int i = 0; i < 5; ++i) {
    SimClient& client = rig.dial();
    const auto from = rig.now();
    client.send(kGet);
    ASSERT_TRUE(rig.until([&] { return ends_with(client.in, "ok"); }));
    EXPECT_LE(rig.now() - from, 1100ms);
  }
  EXPECT_EQ(rig.nodes[1].requests, 5U);
  EXPECT_EQ(rig.cells(0).timeouts.read(), rig.cells(0).connect_failures.read());
}

TEST(Cases, RTY_04_ARepeatedBodyIsExactOrNotRepeated) {
  struct Row {
    std::size_t size;
    bool chunked;
    int status;
  };
  constexpr std::array rows{Row{100, false, 200}, Row{30'000, false, 200}, Row{100'000, false, 502},
                            Row{900, true, 200}};
  for (const Row& row : rows) {
    SCOPED_TRACE(row.size);
    SimRig rig;
    bool broken = false;
    std::string got;
    const auto first_breaks = [&](SimNode& node, Conn& conn) {
      std::string whole;
      if (!conn.next_request(whole)) return;
      if (std::exchange(broken, true)) {
        got = whole.substr(whole.find("\r\n\r\n") + 4);
        ++node.requests;
        conn.send(kOk);
      } else {
        conn.reset();
      }
    };
    rig.add_node(first_breaks);
    rig.add_node(first_breaks);
    std::string body;
    for (std::size_t i = 0; i < row.size; ++i) body += static_cast<char>('a' + i % 26);
    std::string wire = body;
    if (row.chunked) {
      wire.clear();
      for (std::size_t at = 0; at < body.size(); at += 9) {
        const auto piece = body.substr(at, 9);
        wire += std::to_string(piece.size()) + "\r\n" + piece + "\r\n";
      }
      wire += "0\r\n\r\n";
    }
    SimClient& client = rig.dial();
    client.send("PUT /x HTTP/1.1\r\nHost: t\r\n" +
                (row.chunked ? std::string("Transfer-Encoding: chunked")
                             : "Content-Length: " + std::to_string(row.size)) +
                "\r\n\r\n" + wire);
    ASSERT_TRUE(rig.until([&] { return client.in.size() > 12; }));
    EXPECT_EQ(client.status(), row.status);
    if (row.status != 200) continue;
    if (!row.chunked) {
      EXPECT_EQ(got, body);
    } else {
      std::string joined;
      for (std::string rest = got; !rest.starts_with("0\r\n");) {
        const auto size = std::strtoul(rest.c_str(), nullptr, 16);
        joined += rest.substr(rest.find("\r\n") + 2, size);
        rest.erase(0, rest.find("\r\n") + 2 + size + 2);
      }
      EXPECT_EQ(joined, body);
    }
  }
}

enum class How : std::uint8_t { kEndBefore, kEndOnRequest, kResetOnRequest, kResetAfterAByte };
struct Reuse {
  std::string_view name, method;
  How how;
  int status;
  unsigned arrivals;
};

// A connection that served one request dies under the next.
void expect_reuse(std::initializer_list<Reuse> rows) {
  for (const Reuse& row : rows) {
    SCOPED_TRACE(row.name);
    SimRig rig({.partial = false});
    unsigned arrivals = 0;
    std::optional<base::TimePoint> sent_a_byte;
    rig.add_node([&](SimNode&, Conn& conn) {
      std::string whole;
      const bool first = &conn == &rig.nodes[0].conns[0];
      if (first && sent_a_byte && rig.now() > *sent_a_byte + 1ms) return conn.reset();
      if (!conn.next_request(whole)) return;
      if (!first) {
        ++arrivals;
        conn.send(kOk);
      } else if (conn.requests == 1) {
        conn.send(kOk);
        if (row.how == How::kEndBefore) conn.end();
      } else {
        ++arrivals;
        if (row.how == How::kEndOnRequest) conn.end();
        if (row.how == How::kResetOnRequest) conn.reset();
        if (row.how == How::kResetAfterAByte) {
          conn.send("H");
          sent_a_byte = rig.now();
        }
      }
    });
    SimClient& client = rig.dial();
    client.send(kGet);
    ASSERT_TRUE(rig.until([&] { return ends_with(client.in, "ok"); }));
    rig.run(10ms);
    client.in.clear();
    client.send(std::string(row.method) + " /y HTTP/1.1\r\nHost: t\r\nContent-Length: 0\r\n\r\n");
    ASSERT_TRUE(rig.until([&] { return ends_with(client.in, "ok") || client.status() == 502; }));
    EXPECT_EQ(client.status(), row.status);
    EXPECT_EQ(arrivals, row.arrivals);
    EXPECT_EQ(rig.in_flight(), 0U);
    // That a connection was closed while it lay idle says nothing about the node.
    if (row.how != How::kResetAfterAByte) {
      EXPECT_EQ(rig.cells(0).failures.read(), 0U);
    }
  }
}

TEST(Cases, KAL_01_AnIdempotentRequestIsRepeatedOnce) {
  expect_reuse({{"FIN before the request", "GET", How::kEndBefore, 200, 1},
                {"FIN crosses", "GET", How::kEndOnRequest, 200, 2},
                {"RST", "GET", How::kResetOnRequest, 200, 2},
                {"RST after a byte", "GET", How::kResetAfterAByte, 502, 1}});
}

TEST(Cases, KAL_02_APostIsRepeatedOnlyWhenItWasNotSent) {
  expect_reuse({{"FIN before the request", "POST", How::kEndBefore, 200, 1},
                {"FIN crosses", "POST", How::kEndOnRequest, 502, 1},
                {"RST", "POST", How::kResetOnRequest, 502, 1},
                {"RST after a byte", "POST", How::kResetAfterAByte, 502, 1}});
}

}  // namespace
}  // namespace steelyard::proxy
