// Time-outs in simulated time.

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

TEST(Timeouts, OfTheExchange) {
  struct Row {
    std::string_view name;
    std::string_view request;
    std::string_view answer;  // what the node gives of it, once it has all of the request
    bool blackhole;
    base::Duration after;
    int status;  // 0: the connection is broken off instead
    std::string_view text;
  };
  constexpr std::string_view kPost = "POST / HTTP/1.1\r\nHost: t\r\nContent-Length: 9\r\n\r\nfive.";
  constexpr std::array rows{
      Row{"connect", kGet, "", true, 1s, 504, "504 connecting to the node took too long\n"},
      Row{"head", kGet, "", false, 10s, 504, "504 the node did not answer in time\n"},
      Row{"half a head", kGet, "HTTP/1.1 200 OK\r\nConte", false, 10s, 504, ""},
      Row{"an upload that stops", kPost, "", false, 6s, 408,
          "408 the request did not arrive in time\n"},
      Row{"an answer that stops", kGet, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nfive.", false,
          60s, 0, ""},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    SimRig rig;
    SimNode& node = rig.add_node([&](SimNode&, Conn& conn) {
      std::string whole;
      if (conn.next_request(whole)) conn.send(row.answer);
    });
    if (row.blackhole) rig.sim->blackhole(node.address());
    SimClient& client = rig.dial();
    const auto from = rig.now();
    client.send(row.request);
    rig.run(row.after - 100ms);
    EXPECT_EQ(client.status(), row.status == 0 ? 200 : 0);
    EXPECT_FALSE(client.closed());
    ASSERT_TRUE(rig.until([&] { return row.status == 0 ? client.closed() : client.status() > 0; }));
    EXPECT_NEAR(base::seconds(rig.now() - from), base::seconds(row.after), 0.05);
    rig.run(5ms);
    if (row.status != 0) {
      EXPECT_EQ(client.status(), row.status);
      const auto times = rig.worker->metrics().duration.read();
      EXPECT_EQ(times.count(), 1U);
      EXPECT_NEAR(base::seconds(times.quantile(0.5).value_or(0s)), base::seconds(row.after),
                  0.1 * base::seconds(row.after));
    }
    EXPECT_TRUE(client.in.ends_with(row.text)) << client.in;
    rig.run(3s);
    EXPECT_EQ(node.open(), 0U);
    EXPECT_EQ(rig.in_flight(), 0U);
    EXPECT_EQ(rig.worker->exchanges(), 0U);
  }
}

TEST(Timeouts, TheTotalTimeEndsAnAnswerThatTrickles) {
  SimRig::Setup setup;
  setup.timeouts.total = 5s;
  SimRig rig(setup);
  base::TimePoint last{};
  rig.add_node([&](SimNode&, Conn& conn) {
    std::string whole;
    if (conn.next_request(whole)) conn.send("HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n");
    if (conn.requests > 0 && rig.now() - last > 500ms) {
      last = rig.now();
      conn.send("x");
    }
  });
  SimClient& client = rig.dial();
  const auto from = rig.now();
  client.send(kGet);
  ASSERT_TRUE(rig.until([&] { return client.closed(); }));
  EXPECT_NEAR(base::seconds(rig.now() - from), 5.0, 0.05);
}

TEST(Timeouts, OfAClientThatSendsNoHead) {
  struct Row {
    std::string_view name, first, then;  // `then` after 5 s
    base::Duration after;
    int status;
  };
  constexpr std::array rows{
      Row{"nothing at all", "", "", 10s, 0},
      Row{"half a head", "GET / HTTP/1.1\r\nHo", "", 10s, 408},
      Row{"a head that trickles in gets no more time", "GET / HTTP/1.1\r\nHo", "st: t\r\nA", 10s,
          408},
      Row{"idle after an answer", kGet, "", 75s, 200},
      Row{"half a second head", kGet, "GET / HT", 15s, 200},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    SimRig rig;
    rig.add_node();
    SimClient& client = rig.dial();
    rig.run(1ms);
    const auto from = rig.now();
    client.send(row.first);
    rig.run(5s);
    client.send(row.then);
    ASSERT_TRUE(rig.until([&] { return client.closed(); }));
    EXPECT_NEAR(base::seconds(rig.now() - from), base::seconds(row.after), 0.1);
    EXPECT_EQ(client.status(), row.status);
    EXPECT_FALSE(client.peer->was_reset());
    rig.run(3s);
    EXPECT_EQ(rig.worker->connections(), 0U);
  }
}

TEST(Timeouts, ALingeringConnectionIsClosedAfterTwoSeconds) {
  SimRig rig;
  rig.add_node();
  SimClient& client = rig.dial();
  client.send("GET / HTTP/9.9\r\nHost: t\r\n\r\n");
  ASSERT_TRUE(rig.until([&] { return client.closed(); }));
  EXPECT_NE(client.in.find("Connection: close"), std::string::npos);
  EXPECT_EQ(rig.worker->connections(), 1U);
  rig.run(1900ms);
  EXPECT_EQ(rig.worker->connections(), 1U);
  rig.run(200ms);
  EXPECT_EQ(rig.worker->connections(), 0U);
}

TEST(Timeouts, AClientThatSaysCloseIsClosedOnceItsAnswerIsSent) {
  for (const std::string_view request :
       {"GET / HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n", "GET / HTTP/1.0\r\n\r\n"}) {
    SimRig rig;
    rig.add_node();
    SimClient& client = rig.dial();
    client.send(request);
    ASSERT_TRUE(rig.until([&] { return client.closed(); }));
    EXPECT_TRUE(client.in.ends_with("ok"));
    EXPECT_FALSE(client.peer->was_reset());
    rig.run(5ms);
    EXPECT_EQ(rig.worker->connections(), 0U);
  }
}

}  // namespace
}  // namespace steelyard::proxy
