// What clients may do, each limit at its edge, in simulated time: pace, connections, requests,
// sizes.

#include <algorithm>
#include <array>
#include <gtest/gtest.h>
#include <string>

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

// Like run, in longer steps.
void idle(SimRig& rig, base::Duration time) {
  (void)rig.until([] { return false; }, time);
}

// --- pace

TEST(Pace, ABodyMustComeWithTheLeastRate) {
  struct Row {
    std::string_view name;
    std::uint64_t min_rate;
    std::size_t bytes;  // each second
    int status;
    base::Duration after;
  };
  constexpr std::array rows{
      Row{"nothing", 240, 0, 408, 6s},        Row{"half of it", 240, 120, 408, 7s},
      Row{"just enough", 240, 240, 200, 40s}, Row{"any is enough", 0, 1, 408, 46s},
      Row{"nothing of any", 0, 0, 408, 6s},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    SimRig::Setup setup;
    setup.options.clients.min_rate = base::Bytes{row.min_rate};
    SimRig rig(setup);
    rig.add_node();
    SimClient& client = rig.dial();
    client.send("POST / HTTP/1.1\r\nHost: t\r\nContent-Length: 9600\r\n\r\n");
    const auto from = rig.now();
    for (int second = 0; second < 50 && client.status() == 0; ++second) {
      client.send(std::string(second < 40 ? row.bytes : 0, 'x'));
      idle(rig, 1s);
    }
    EXPECT_EQ(client.status(), row.status);
    EXPECT_NEAR(base::seconds(rig.now() - from), base::seconds(row.after), 1.1);
    EXPECT_EQ(rig.worker->metrics().slow_bodies.read(), row.status == 408 ? 1U : 0U);
    EXPECT_EQ(rig.in_flight(), row.status == 0 ? 1U : 0U);
  }
}

TEST(Pace, ABodyThatWeDoNotTakeIsNotSlow) {
  SimRig rig;
  SimNode& node = rig.add_node([](SimNode&, Conn& conn) { conn.reads = false; });
  SimClient& client = rig.dial();
  client.send("POST / HTTP/1.1\r\nHost: t\r\nContent-Length: 1000000\r\n\r\n" +
              std::string(1'000'000, 'x'));
  idle(rig, 40s);
  EXPECT_EQ(client.status(), 0);
  for (Conn& conn : node.conns) conn.reads = true;
  node.script = answer_ok;
  ASSERT_TRUE(rig.until([&] { return client.status() > 0; }));
  EXPECT_EQ(client.status(), 200);
  EXPECT_EQ(rig.worker->metrics().slow_bodies.read(), 0U);
}

TEST(Pace, AClientThatWaitsForContinueIsNotSlow) {
  SimRig rig;
  SimNode& node = rig.add_node([](SimNode&, Conn&) {});
  SimClient& client = rig.dial();
  client.send("POST / HTTP/1.1\r\nHost: t\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n");
  idle(rig, 30s);
  EXPECT_EQ(client.in, "");
  node.conns[0].send("HTTP/1.1 100 Continue\r\n\r\n");
  ASSERT_TRUE(rig.until([&] { return client.status() == 100; }));
  node.script = answer_ok;
  client.send("hello");
  ASSERT_TRUE(rig.until([&] { return ok(client); }));
}

TEST(Pace, AnAnswerThatNobodyTakesIsBrokenOff) {
  struct Row {
    std::string_view name;
    std::size_t bytes;  // read each second
    bool cut;
  };
  constexpr std::array rows{Row{"nothing", 0, true}, Row{"too little", 100, true},
                            Row{"enough", 10'000, false}};
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    SimRig rig;
    const std::string body(1'000'000, 'x');
    rig.add_node([&](SimNode&, Conn& conn) {
      std::string whole;
      if (conn.next_request(whole)) {
        conn.send("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n" + body);
      }
    });
    SimClient& client = rig.dial();
    client.reads = false;
    client.send(kGet);
    const auto from = rig.now();
    for (int second = 0; second < 50 && !client.peer->was_reset(); ++second) {
      client.in += client.peer->read(row.bytes);
      idle(rig, 1s);
    }
    EXPECT_EQ(client.peer->was_reset(), row.cut);
    if (row.cut) {
      EXPECT_NEAR(base::seconds(rig.now() - from), 31, 2);
    }
    EXPECT_EQ(rig.worker->metrics().slow_readers.read(), row.cut ? 1U : 0U);
    rig.run(10ms);
    EXPECT_EQ(rig.in_flight(), row.cut ? 0U : 1U);
  }
}

// A client that says close and reads slowly gets all of its answer.
TEST(Pace, TheLastAnswerIsNotCutByTheCloseBehindIt) {
  SimRig rig;
  rig.add_node([&](SimNode&, Conn& conn) {
    std::string whole;
    if (conn.next_request(whole)) {
      conn.send("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n" + std::string(100'000, 'x'));
    }
  });
  SimClient& client = rig.dial();
  client.reads = false;
  client.send("GET / HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n");
  for (int second = 0; second < 30 && !client.closed(); ++second) {
    client.in += client.peer->read(5000);
    idle(rig, 1s);
  }
  EXPECT_TRUE(client.peer->ended());
  EXPECT_FALSE(client.peer->was_reset());
  EXPECT_EQ(client.body().size(), 100'000U);
}

// --- connections and requests

TEST(Limits, AnAddressHasItsShareOfConnections) {
  SimRig::Setup setup;
  setup.options.clients.max_connections_per_address = 3;
  SimRig rig(setup);
  rig.add_node();
  for (int i = 0; i < 4; ++i) rig.dial().send(kGet);
  rig.run(10ms);
  EXPECT_EQ(std::count_if(rig.clients.begin(), rig.clients.end(), ok), 3);
  EXPECT_TRUE(rig.clients[3].closed());
  EXPECT_EQ(rig.worker->metrics().address_refused.read(), 1U);
  EXPECT_EQ(rig.worker->metrics().accepted.read(), 3U);
  rig.clients[0].peer.reset();
  rig.run(10ms);
  SimClient& next = rig.dial();
  next.send(kGet);
  ASSERT_TRUE(rig.until([&] { return ok(next); }));
}

TEST(Limits, AListenerHasItsShareOfConnections) {
  SimRig::Setup setup;
  setup.listener.max_connections = 2;
  SimRig rig(setup);
  rig.add_node();
  for (int i = 0; i < 3; ++i) rig.dial().send(kGet);
  rig.run(1s);
  EXPECT_EQ(std::count_if(rig.clients.begin(), rig.clients.end(), ok), 2);
  EXPECT_FALSE(rig.clients[2].closed());  // it waits in the queue
  EXPECT_EQ(rig.worker->metrics().listener_full.read(), 1U);
  rig.clients[0].peer.reset();
  ASSERT_TRUE(rig.until([&] { return ok(rig.clients[2]); }));
}

TEST(Limits, TheTimesThatAcceptingStoppedAreCounted) {
  SimRig::Setup setup;
  setup.options.clients.max_connections = 2;
  SimRig rig(setup);
  rig.add_node();
  rig.dial();
  rig.run(5ms);
  EXPECT_EQ(rig.worker->metrics().limit_reached.read(), 0U);
  rig.dial();
  rig.dial();
  rig.run(5ms);
  EXPECT_EQ(rig.worker->metrics().limit_reached.read(), 1U);
  EXPECT_EQ(rig.worker->metrics().clients.read(), 2U);
}

TEST(Limits, AConnectionServesItsRequests) {
  SimRig::Setup setup;
  setup.options.clients.max_requests = 3;
  SimRig rig(setup);
  rig.add_node();
  SimClient& client = rig.dial();
  for (int i = 1; i <= 3; ++i) {
    client.in.clear();
    client.send(kGet);
    ASSERT_TRUE(rig.until([&] { return client.in.ends_with("ok"); }));
    EXPECT_EQ(client.in.find("Connection: close") != std::string::npos, i == 3) << i;
  }
  ASSERT_TRUE(rig.until([&] { return client.closed(); }));
  EXPECT_FALSE(client.peer->was_reset());
  EXPECT_EQ(rig.worker->metrics().used_up.read(), 1U);
}

TEST(Limits, AClientThatAsksNoMoreIsClosedAndCounted) {
  SimRig::Setup setup;
  setup.options.clients.idle_timeout = 2s;
  SimRig rig(setup);
  rig.add_node();
  SimClient& client = rig.dial();
  client.send(kGet);
  rig.run(1990ms);
  EXPECT_EQ(rig.worker->metrics().idle_closed.read(), 0U);
  ASSERT_TRUE(rig.until([&] { return client.closed(); }, 100ms));
  EXPECT_EQ(rig.worker->metrics().idle_closed.read(), 1U);
  EXPECT_EQ(rig.worker->metrics().bad_requests.read(), 0U);
}

// --- sizes

TEST(Limits, SizesAreRefusedOneAboveTheirLimitAndCounted) {
  const auto line = [](std::size_t bytes) {
    return "GET /" + std::string(bytes - 14, 'x') + " HTTP/1.1\r\nHost: t\r\n\r\n";
  };
  const auto fields = [](std::size_t count) {
    std::string text = "GET / HTTP/1.1\r\nHost: t\r\n";
    for (std::size_t i = 1; i < count; ++i) text += "A: b\r\n";
    return text + "\r\n";
  };
  const auto head = [](std::size_t bytes) {
    std::string text = "GET / HTTP/1.1\r\nHost: t\r\nA: ";
    return text + std::string(bytes - text.size() - 4, 'x') + "\r\n\r\n";
  };
  const auto body = [](std::size_t bytes) {
    return "POST / HTTP/1.1\r\nHost: t\r\nContent-Length: " + std::to_string(bytes) + "\r\n\r\n";
  };
  struct Row {
    std::string_view name;
    std::string request;
    int status;  // 0: taken
  };
  const std::array rows{
      Row{"line", line(8192), 0},      Row{"line", line(8193), 414},
      Row{"fields", fields(100), 0},   Row{"fields", fields(101), 431},
      Row{"head", head(65536), 0},     Row{"head", head(65537), 431},
      Row{"body", body(100 << 20), 0}, Row{"body", body((100 << 20) + 1), 413},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(std::string(row.name) + " " + std::to_string(row.status));
    SimRig rig;
    rig.add_node();
    SimClient& client = rig.dial();
    client.send(row.request);
    rig.run(50ms);
    const auto& metrics = rig.worker->metrics();
    std::uint64_t counted = 0;
    for (std::size_t i = 0; i < metrics.refusals.size(); ++i) {
      if (WorkerMetrics::kRefusals[i] == row.status) counted = metrics.refusals[i].read();
    }
    if (row.status == 0) {
      EXPECT_NE(client.status() / 100, 4);
      EXPECT_EQ(metrics.bad_requests.read(), 0U);
    } else {
      EXPECT_EQ(client.status(), row.status);
      EXPECT_EQ(counted, 1U);
      EXPECT_EQ(metrics.bad_requests.read(), 1U);
      EXPECT_EQ(metrics.answers[4].read(), 1U);
      EXPECT_EQ(metrics.answers[0].read(), 0U);
    }
  }
}

// --- counting

TEST(Counting, OBS_04_EveryStatusIsInItsClassAndTheSumIsWhatWasAsked) {
  constexpr std::array statuses{200, 299, 304, 418, 499, 599, 600, 999};
  SimRig rig;
  std::size_t at = 0;
  rig.add_node([&](SimNode&, Conn& conn) {
    std::string whole;
    if (!conn.next_request(whole)) return;
    conn.send("HTTP/1.1 " + std::to_string(statuses[at++]) + " X\r\nContent-Length: 0\r\n\r\n");
  });
  for (std::size_t i = 0; i < statuses.size(); ++i) {
    SimClient& client = rig.dial();
    client.send(kGet);
    ASSERT_TRUE(rig.until([&] { return client.status() == statuses[i]; }));
  }
  rig.nodes[0].script = [](SimNode&, Conn&) {};
  SimClient& gone = rig.dial();
  gone.send(kGet);
  rig.run(5ms);
  gone.peer->reset();
  rig.run(5ms);
  const auto& metrics = rig.worker->metrics();
  constexpr std::array<std::uint64_t, WorkerMetrics::kClasses> want{1, 0, 2, 1, 2, 1, 2};
  for (std::size_t i = 0; i < want.size(); ++i) EXPECT_EQ(metrics.answers[i].read(), want[i]) << i;
}

// Whatever ends an exchange, nothing stays counted as under way.
TEST(Counting, OBS_03_NothingIsUnderWayAfterAborts) {
  SimRig rig;
  rig.add_node([](SimNode& node, Conn& conn) {
    std::string whole;
    while (conn.next_request(whole)) {
      switch (++node.requests % 4) {
        case 0:
          conn.send(kOk);
          break;
        case 1:
          conn.send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nfive.");
          break;
        case 2:
          return conn.reset();
        default:
          break;
      }
    }
  });
  for (int i = 0; i < 200; ++i) {
    SimClient& client = rig.dial();
    client.send(i % 3 == 0 ? "POST / HTTP/1.1\r\nHost: t\r\nContent-Length: 9\r\n\r\nfi"
                           : std::string(kGet));
    rig.run(1ms);
    i % 2 == 0 ? client.peer->reset() : client.peer->end();
  }
  ASSERT_TRUE(rig.until([&] { return rig.worker->connections() == 0; }));
  EXPECT_EQ(rig.in_flight(), 0U);
  EXPECT_EQ(rig.worker->exchanges(), 0U);
  EXPECT_EQ(rig.worker->metrics().exchanges.read(), 0U);
  EXPECT_EQ(rig.worker->metrics().clients.read(), 0U);
}

}  // namespace
}  // namespace steelyard::proxy
