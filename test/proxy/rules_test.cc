// Statuses, hedges and queues through the whole worker, in simulated time.

#include <array>
#include <gtest/gtest.h>

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
constexpr std::string_view kBusy =
    "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 7\r\nContent-Length: 4\r\n\r\nbusy";

void answer_busy(SimNode& node, Conn& conn) {
  std::string whole;
  while (conn.next_request(whole)) {
    ++node.requests;
    conn.send(kBusy);
  }
}
// Takes requests and never answers.
void swallow(SimNode& node, Conn& conn) {
  std::string whole;
  while (conn.next_request(whole)) ++node.requests;
}

TEST(Rules, AChosenStatusIsTriedElsewhereAndPassedOnWhereThereIsNoOther) {
  for (const bool other : {true, false}) {
    SimRig rig({.retry = {.statuses = {503}}});
    rig.add_node(answer_busy);
    if (other) rig.add_node();
    unsigned ok = 0;
    for (int i = 0; i < 4; ++i) {
      SimClient& client = rig.dial();
      client.send(kGet);
      ASSERT_TRUE(
          rig.until([&] { return client.in.ends_with("ok") || client.in.ends_with("busy"); }));
      ok += client.status() == 200 ? 1 : 0;
      if (client.status() == 503) {
        EXPECT_NE(client.in.find("Retry-After: 7"), std::string::npos);
      }
    }
    EXPECT_EQ(ok, other ? 4U : 0U);
    // With another node it asked once, then rested as it had wished.
    EXPECT_LE(rig.nodes[0].requests, other ? 1U : 4U);
    EXPECT_EQ(rig.in_flight(), 0U);
  }
}

// The rest that a node asks for, as a date of the wall clock.
TEST(Rules, ANodeRestsUntilTheDateItNames) {
  struct Row {
    std::string_view date;  // it is noon
    base::Duration rest;
  };
  for (const Row& row :
       {Row{"Sun, 01 Mar 2026 12:00:20 GMT", 20s}, Row{"Sunday, 01-Mar-26 12:00:20 GMT", 20s},
        Row{"Sun, 01 Mar 2026 11:00:00 GMT", 0s},
        Row{"Sun, 01 Mar 2027 12:00:00 GMT", 60s},  // the most it gets
        Row{"at noon", 0s}}) {
    SCOPED_TRACE(row.date);
    SimRig rig;
    bool busy = true;
    rig.add_node([&](SimNode& node, Conn& conn) {
      if (!busy) return answer_ok(node, conn);
      std::string whole;
      if (!conn.next_request(whole)) return;
      busy = false;
      conn.send("HTTP/1.1 503 No\r\nRetry-After: " + std::string(row.date) +
                "\r\nContent-Length: 0\r\n\r\n");
    });
    rig.add_node();
    const auto ask = [&] {
      SimClient& client = rig.dial();
      client.send("GET /x HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n");
      ASSERT_TRUE(rig.until([&] { return client.status() > 0; }));
    };
    for (int i = 0; i < 2; ++i) ask();
    ASSERT_FALSE(busy);
    const auto from = rig.now();
    while (rig.nodes[0].requests == 0 && rig.now() < from + 70s) {
      ask();
      rig.run(500ms, 100ms);
    }
    EXPECT_NEAR(base::seconds(rig.now() - from), base::seconds(row.rest), 2);
  }
}

TEST(Rules, AfterAnUploadAChosenStatusIsTriedElsewhereWithTheWholeBody) {
  SimRig rig({.retry = {.statuses = {503}}, .picker = "least_connections"});
  rig.add_node(answer_busy);
  rig.add_node();
  rig.weights = {100, 1};
  rig.publish();
  SimClient& client = rig.dial();
  const std::string body(20'000, 'b');
  client.send("PUT /x HTTP/1.1\r\nHost: t\r\nContent-Length: 20000\r\n\r\n" + body);
  ASSERT_TRUE(rig.until([&] { return client.in.ends_with("ok"); }));
  ASSERT_EQ(rig.nodes[1].seen.size(), 1U);
  EXPECT_TRUE(rig.nodes[1].seen[0].ends_with(body));
}

TEST(Rules, TheBudgetBoundsRetriesAndCountsWhatItDenied) {
  SimRig rig({.retry = {.attempts = 2, .statuses = {503}},
              .rules = {.retry_budget = request::BudgetOptions{.ratio = 0.2, .floor = 0}}});
  const auto refuse = [](SimNode& node, Conn& conn) {
    std::string whole;
    while (conn.next_request(whole)) {
      ++node.requests;
      conn.send("HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n");
    }
  };
  for (int i = 0; i < 4; ++i) rig.add_node(refuse);
  for (int i = 0; i < 100; ++i) rig.dial().send(kGet);
  ASSERT_TRUE(rig.until([&] {
    return std::all_of(rig.clients.begin(), rig.clients.end(),
                       [](const SimClient& client) { return client.status() == 503; });
  }));
  unsigned arrivals = 0;
  for (const auto& node : rig.nodes) arrivals += node.requests;
  EXPECT_LE(arrivals, 120U);
  EXPECT_GT(arrivals, 105U);
  EXPECT_EQ(rig.worker->metrics().retries.read(), arrivals - 100);
  EXPECT_GT(rig.worker->metrics().denied.read(), 0U);
  EXPECT_EQ(rig.in_flight(), 0U);
}

TEST(Rules, AHedgeAnswersForASlowNodeAndTheLoserIsCancelled) {
  SimRig rig({.hedge = request::HedgeOptions{.after = 20ms}, .picker = "least_connections"});
  rig.add_node(swallow);
  rig.add_node();
  rig.weights = {100, 1};
  rig.publish();
  SimClient& client = rig.dial();
  const auto from = rig.now();
  client.send(kGet);
  ASSERT_TRUE(rig.until([&] { return client.in.ends_with("ok"); }));
  EXPECT_GE(rig.now() - from, 20ms);
  EXPECT_LE(rig.now() - from, 60ms);
  rig.run(10ms);
  EXPECT_EQ(rig.nodes[0].requests, 1U);
  EXPECT_EQ(rig.nodes[0].open(), 0U);  // what it still had to say must reach nobody
  EXPECT_EQ(rig.nodes[1].requests, 1U);
  EXPECT_EQ(rig.worker->metrics().hedges.read(), 1U);
  EXPECT_EQ(rig.worker->metrics().hedges_won.read(), 1U);
  EXPECT_EQ(rig.in_flight(), 0U);
  // A POST is asked of one node only.
  client.in.clear();
  client.send("POST /x HTTP/1.1\r\nHost: t\r\nContent-Length: 0\r\n\r\n");
  rig.run(1s);
  EXPECT_EQ(rig.worker->metrics().hedges.read(), 1U);
}

TEST(Rules, AClientThatLeavesEndsBothAttempts) {
  SimRig rig({.hedge = request::HedgeOptions{.after = 20ms}});
  rig.add_node(swallow);
  rig.add_node(swallow);
  SimClient& client = rig.dial();
  client.send(kGet);
  ASSERT_TRUE(rig.until([&] { return rig.in_flight() == 2; }));
  client.peer->reset();
  rig.run(50ms);
  EXPECT_EQ(rig.in_flight(), 0U);
  EXPECT_EQ(rig.worker->exchanges(), 0U);
  EXPECT_EQ(rig.cells(0).failures.read() + rig.cells(1).failures.read(), 0U);
}

// One request at a time; the others wait in turn.
TEST(Rules, WhoFindsEveryNodeBusyWaitsInTurnAndTheNextIsToldAtOnce) {
  SimRig rig({.rules = {.limits = {.max_in_flight = 1}, .queue = {.size = 2, .timeout = 5s}}});
  unsigned most = 0;
  bool go = false;
  rig.add_node([&](SimNode& node, Conn& conn) {
    most = std::max(most, rig.in_flight());
    if (go) answer_ok(node, conn);
  });
  std::array<SimClient*, 4> clients{};
  for (auto& client : clients) {
    client = &rig.dial();
    client->send(kGet);
    rig.run(5ms);
  }
  rig.run(5ms);
  EXPECT_EQ(clients[3]->status(), 503);
  EXPECT_NE(clients[3]->in.find("\r\nRetry-After: 1\r\n"), std::string::npos) << clients[3]->in;
  EXPECT_EQ(clients[2]->status(), 0);
  EXPECT_EQ(rig.worker->metrics().waiting.read(), 2U);
  go = true;
  std::vector<int> order;
  ASSERT_TRUE(rig.until([&] {
    for (int i = 0; i < 3; ++i) {
      const bool new_one = std::find(order.begin(), order.end(), i) == order.end();
      if (clients[static_cast<std::size_t>(i)]->status() == 200 && new_one) order.push_back(i);
    }
    return order.size() == 3;
  }));
  EXPECT_EQ(order, (std::vector{0, 1, 2}));
  EXPECT_EQ(most, 1U);
  EXPECT_EQ(rig.worker->metrics().queued.read(), 2U);
  EXPECT_EQ(rig.worker->metrics().waiting.read(), 0U);
  rig.run(10ms);
  EXPECT_EQ(rig.in_flight(), 0U);
}

TEST(Rules, WhoWaitsTooLongIsToldAndWhoLeavesIsForgotten) {
  SimRig rig({.rules = {.limits = {.max_in_flight = 1}, .queue = {.size = 9, .timeout = 40ms}}});
  rig.add_node(swallow);
  SimClient& first = rig.dial();
  first.send(kGet);
  rig.run(5ms);
  SimClient& second = rig.dial();
  SimClient& third = rig.dial();
  const auto from = rig.now();
  second.send("PUT /x HTTP/1.1\r\nHost: t\r\nContent-Length: 3\r\n\r\nabc");
  third.send(kGet);
  rig.run(5ms);
  third.peer->reset();
  ASSERT_TRUE(rig.until([&] { return second.status() == 503; }));
  EXPECT_GE(rig.now() - from, 40ms);
  EXPECT_LE(rig.now() - from, 60ms);
  EXPECT_EQ(rig.worker->metrics().waiting.read(), 0U);
  const auto reason = static_cast<std::size_t>(request::Reason::kQueueTimeout);
  EXPECT_EQ(rig.worker->metrics().own_answers[reason].read(), 1U);
  EXPECT_EQ(rig.worker->exchanges(), 1U);
  EXPECT_EQ(rig.in_flight(), 1U);
}

// A token that another worker gives back is noticed without being told.
TEST(Rules, ATokenOfAnotherWorkerIsFound) {
  SimRig rig({.rules = {.limits = {.max_in_flight = 1}, .queue = {.size = 9, .timeout = 5s}}});
  rig.add_node();
  auto& line = rig.slots.line(rig.refs[0]);
  line.in_flight.fetch_add(1);
  SimClient& client = rig.dial();
  client.send(kGet);
  rig.run(100ms);
  EXPECT_EQ(client.status(), 0);
  line.in_flight.fetch_sub(1);
  const auto from = rig.now();
  ASSERT_TRUE(rig.until([&] { return client.status() == 200; }));
  EXPECT_LE(rig.now() - from, 30ms);
}

TEST(Rules, AQueuedRequestSurvivesANewTableAndIsToldWhenItsNodesLeave) {
  for (const bool leaves : {false, true}) {
    SimRig rig({.rules = {.limits = {.max_in_flight = 1}, .queue = {.size = 9, .timeout = 5s}}});
    rig.add_node(swallow);
    rig.dial().send(kGet);
    rig.run(5ms);
    SimClient& waits = rig.dial();
    waits.send(kGet);
    rig.run(5ms);
    if (leaves) {
      rig.listed[0] = false;
      rig.publish();
      ASSERT_TRUE(rig.until([&] { return waits.status() == 503; }, 100ms));
    } else {
      rig.add_node();
      ASSERT_TRUE(rig.until([&] { return waits.status() == 200; }, 100ms));
    }
  }
}

}  // namespace
}  // namespace steelyard::proxy
