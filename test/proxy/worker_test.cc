// A worker in simulated time: new Tables and Configs, limits, stopping.

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

bool ok(const SimClient& client) { return client.in.ends_with("\r\n\r\nok"); }

// --- what is published

TEST(Published, AWorkerWithoutAnythingTakesNoClients) {
  auto sim = io::make_sim_reactor();
  model::Slots slots(4, 1);
  Publisher publisher(1, [](std::uint32_t) {});
  struct Quiet final : WorkerEvents {
    void on_urgent(model::NodeRef) noexcept override {}
    void on_taken(std::uint64_t) noexcept override {}
    void on_listener_stopped(const base::Address&) noexcept override {}
    void on_drained() noexcept override {}
  } quiet;
  const auto address = base::Address::loopback(80);
  const auto socket = sim->listener(address);
  const auto client = sim->dial(address);
  Worker worker(*sim, {}, slots, publisher.cell(0), quiet);
  worker.add_listener(socket, address);
  worker.turn(sim->now() + 10ms);
  EXPECT_EQ(worker.connections(), 0U);
}

TEST(Published, RecordsLiveUntilEveryWorkerIsPastThem) {
  SimRig rig;
  rig.add_node();
  rig.run(1ms);
  rig.publisher.collect(rig.now());
  EXPECT_EQ(rig.publisher.records(), 1U);
  rig.publish();
  rig.publish();
  EXPECT_EQ(rig.publisher.records(), 3U);  // the one in use, one never seen, the current one
  std::vector<std::uint32_t> silent{9};
  bool done = false;
  const auto wait = [&](base::Duration time) {
    done = false;
    rig.publisher.when_taken(rig.publisher.record_number(), rig.now() + time,
                             [&](const auto& missing) {
                               silent = missing;
                               done = true;
                             });
  };
  wait(0s);
  rig.publisher.collect(rig.now());
  EXPECT_TRUE(done);
  EXPECT_EQ(silent, std::vector<std::uint32_t>{0});
  wait(1s);
  rig.run(1ms);
  EXPECT_TRUE(done);
  EXPECT_TRUE(silent.empty());
  EXPECT_EQ(rig.publisher.records(), 1U);
}

TEST(Published, AConfigLivesAsLongAsAnExchangeThatBeganUnderIt) {
  SimRig rig;
  SimNode& node = rig.add_node([](SimNode&, Conn&) {});
  SimClient& client = rig.dial();
  client.send(kGet);
  ASSERT_TRUE(rig.until([&] { return rig.worker->exchanges() == 1; }));
  for (int i = 0; i < 3; ++i) {
    rig.publish_config();
    rig.run(1ms);
  }
  EXPECT_EQ(rig.publisher.configs(), 4U);  // those from the oldest in use on
  node.script = answer_ok;
  ASSERT_TRUE(rig.until([&] { return ok(client); }));
  rig.run(5ms);
  EXPECT_EQ(rig.publisher.configs(), 1U);
}

TEST(Published, AboveEightConfigsInUseTheOldestIsBrokenOff) {
  SimRig rig;
  rig.add_node([](SimNode&, Conn&) {});
  for (int i = 0; i < 10; ++i) {
    rig.dial().send(kGet);
    ASSERT_TRUE(rig.until([&] {
      return rig.clients.back().closed() ||
             rig.worker->exchanges() + static_cast<std::size_t>(std::max(0, i - 7)) ==
                 static_cast<std::size_t>(i + 1);
    }));
    rig.publish_config();
    rig.run(2ms);
  }
  EXPECT_LE(rig.publisher.configs(), 9U);
  EXPECT_EQ(rig.clients[0].status(), 503);
  EXPECT_EQ(rig.clients[9].status(), 0);
  EXPECT_GE(rig.worker->exchanges(), 7U);
}

TEST(Published, AnExchangeWhoseUpstreamVanishesIsAnsweredOrGets503AtItsRetry) {
  SimRig rig;
  SimNode& node = rig.add_node([](SimNode&, Conn&) {});
  SimClient& client = rig.dial();
  SimClient& other = rig.dial();
  client.send(kGet);
  other.send(kGet);
  ASSERT_TRUE(rig.until([&] { return node.conns.size() == 2 && node.conns[1].got > 0; }));
  rig.listed[0] = false;
  rig.publish();
  rig.run(2ms);
  std::string whole;
  ASSERT_TRUE(node.conns[0].next_request(whole));
  node.conns[0].send(kOk);
  node.conns[1].reset();
  ASSERT_TRUE(rig.until([&] { return client.status() > 0 && other.status() > 0; }));
  EXPECT_EQ(std::min(client.status(), other.status()), 200);
  EXPECT_GE(std::max(client.status(), other.status()), 502);
  rig.run(5ms);
  EXPECT_EQ(rig.pooled(), 0U);  // it left: its connections do not come back
  EXPECT_EQ(rig.in_flight(), 0U);
}

// --- limits and stopping

TEST(Clients, AboveTheLimitWaitInTheQueue) {
  SimRig::Setup setup;
  setup.options.clients.max_connections = 3;
  SimRig rig(setup);
  rig.add_node();
  for (int i = 0; i < 5; ++i) rig.dial().send(kGet);
  rig.run(1s);
  EXPECT_EQ(rig.worker->connections(), 3U);
  EXPECT_EQ(std::count_if(rig.clients.begin(), rig.clients.end(), ok), 3);
  rig.clients[0].peer.reset();
  rig.clients[1].peer.reset();
  ASSERT_TRUE(
      rig.until([&] { return std::count_if(rig.clients.begin(), rig.clients.end(), ok) == 5; }));
}

TEST(Drain, NothingAcceptedOrQueuedIsLost) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    SimRig::Setup setup;
    setup.seed = seed;
    setup.options.clients.max_connections = 4;
    SimRig rig(setup);
    rig.add_node();
    for (int i = 0; i < 12; ++i) rig.dial();  // more than the limit: the others are in the queue
    rig.clients[0].send(kGet);
    ASSERT_TRUE(rig.until([&] { return ok(rig.clients[0]); }));
    rig.clients[0].in.clear();
    rig.worker->drain(rig.now() + 2s, rig.now() + 30s);
    rig.run(100ms);
    EXPECT_EQ(rig.listeners_stopped, 1U);
    for (auto& client : rig.clients) client.send(kGet);
    ASSERT_TRUE(rig.until([&] {
      return std::all_of(rig.clients.begin(), rig.clients.end(), [](const SimClient& client) {
        return client.status() == 200 && client.in.find("Connection: close") != std::string::npos &&
               client.closed() && !client.peer->was_reset();
      });
    }));
    for (auto& client : rig.clients) client.peer.reset();
    ASSERT_TRUE(rig.until([&] { return rig.worker->finished(); }));
    EXPECT_EQ(rig.drained, 1U);
    EXPECT_EQ(rig.pooled(), 0U);
    EXPECT_EQ(rig.worker->connections(), 0U);
  }
}

// Whoever balances in front needs some time to turn away: until then nobody is refused.
TEST(Drain, DRN_04_NewConnectionsAreTakenForAWhileAndEveryAnswerSaysClose) {
  SimRig rig;
  rig.add_node();
  std::vector<SimClient*> kept;
  for (int i = 0; i < 30; ++i) {
    kept.push_back(&rig.dial());
    kept.back()->send(kGet);
  }
  ASSERT_TRUE(rig.until(
      [&] { return std::all_of(kept.begin(), kept.end(), [](auto* c) { return ok(*c); }); }));
  const auto from = rig.now();
  rig.worker->drain(from + 7s, from + 30s, from + 5s);
  const auto closes = [](const SimClient& client) {
    return client.status() == 200 && client.in.find("Connection: close") != std::string::npos;
  };
  for (std::size_t i = 0; rig.now() < from + 4900ms; ++i) {
    if (i < kept.size()) {
      kept[i]->in.clear();
      kept[i]->send(kGet);
    }
    SimClient& fresh = rig.dial();
    fresh.send(kGet);
    ASSERT_TRUE(rig.until([&] { return closes(fresh); }, 1s)) << fresh.in;
    rig.run(90ms, 10ms);
    if (i < kept.size()) {
      EXPECT_TRUE(closes(*kept[i])) << i;
    }
    EXPECT_EQ(rig.listeners_stopped, 0U);
  }
  rig.run(from + 6s - rig.now(), 10ms);
  EXPECT_EQ(rig.listeners_stopped, 1U);
  ASSERT_TRUE(rig.until([&] { return rig.worker->finished(); }, 10s));
  for (const auto& client : rig.clients) {
    EXPECT_TRUE(closes(client));
    EXPECT_FALSE(client.peer->was_reset());
  }
}

TEST(Drain, ASecondOrderEndsTheTimeOfTakingNewConnections) {
  SimRig rig;
  rig.add_node();
  rig.worker->drain(rig.now() + 60s, rig.now() + 60s, rig.now() + 60s);
  rig.run(1s, 10ms);
  EXPECT_EQ(rig.listeners_stopped, 0U);
  rig.worker->drain(rig.now(), rig.now());
  ASSERT_TRUE(rig.until([&] { return rig.worker->finished(); }, 5s));
}

TEST(Drain, AnAnswerToAnEarlierRequestSaysCloseToo) {
  SimRig rig;
  SimNode& node = rig.add_node();
  SimClient& answered = rig.dial();
  SimClient& refused = rig.dial();
  node.script = [](SimNode&, Conn&) {};
  answered.send(kGet);
  refused.send(kGet);
  rig.run(5ms);
  ASSERT_EQ(node.conns.size(), 2U);
  rig.worker->drain(rig.now() + 2s, rig.now() + 8s);
  rig.run(100ms);
  node.conns[0].send(kOk);  // the other one is answered by us, at the limit
  for (const SimClient* client : {&answered, &refused}) {
    ASSERT_TRUE(rig.until([&] { return client->closed(); }, 9s));
    EXPECT_GT(client->status(), 0);
    EXPECT_NE(client->in.find("Connection: close"), std::string::npos) << client->in;
  }
}

TEST(Drain, IdleConnectionsAreClosedInTimeAndTheRestAtTheLimit) {
  SimRig rig;
  SimNode& node = rig.add_node();
  SimClient& idle = rig.dial();
  SimClient& slow = rig.dial();
  idle.send(kGet);
  ASSERT_TRUE(rig.until([&] { return ok(idle); }));
  node.script = [](SimNode&, Conn&) {};
  slow.send(kGet);
  rig.run(5ms);
  const auto from = rig.now();
  rig.worker->drain(from + 2s, from + 8s);
  rig.run(1900ms);
  EXPECT_FALSE(idle.closed());
  rig.run(200ms);
  EXPECT_TRUE(idle.peer->ended());
  EXPECT_FALSE(slow.closed());
  ASSERT_TRUE(rig.until([&] { return slow.status() > 0; }));
  EXPECT_EQ(slow.status(), 503);
  EXPECT_NEAR(base::seconds(rig.now() - from), 8.0, 0.1);
  ASSERT_TRUE(rig.until([&] { return rig.worker->finished(); }, 5s));
  EXPECT_EQ(rig.in_flight(), 0U);
}

TEST(Listeners, OneThatIsRemovedServesWhatItHasByItsLastConfig) {
  SimRig rig;
  rig.add_node();
  SimClient& client = rig.dial();
  rig.run(1ms);
  const auto old = rig.address;
  rig.address = base::Address::loopback(8081);
  const auto socket = rig.sim->listener(rig.address);
  rig.publish_config();
  rig.worker->add_listener(socket, rig.address);
  rig.worker->remove_listener(old);
  rig.run(1ms);
  SimClient& other = rig.dial();
  client.send(kGet);
  other.send(kGet);
  ASSERT_TRUE(rig.until([&] { return client.status() > 0 && ok(other); }));
  EXPECT_EQ(client.status(), 200);
  EXPECT_NE(client.in.find("Connection: close"), std::string::npos);
  ASSERT_TRUE(rig.until([&] { return rig.listeners_stopped == 1; }));
  client.peer.reset();
  rig.run(5ms);
  EXPECT_EQ(rig.publisher.configs(), 1U);
  EXPECT_EQ(rig.worker->connections(), 1U);
}

TEST(Listeners, OneThatIsAddedWithinATurnServesByTheConfigThatHasIt) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    SimRig::Setup setup;
    setup.seed = seed;
    SimRig rig(setup);
    rig.add_node();
    rig.run(1ms);
    rig.address = base::Address::loopback(8081);
    const auto socket = rig.sim->listener(rig.address);
    SimClient& client = rig.dial();  // waits in the queue
    client.send(kGet);
    bool taken = false;
    rig.sim->post(io::make_task([&] {
      rig.publish_config();
      rig.worker->add_listener(socket, rig.address);
      taken = rig.publisher.cell(0).taken.read() == rig.publisher.record_number();
    }));
    ASSERT_TRUE(rig.until([&] { return client.status() > 0; }));
    EXPECT_TRUE(taken);
    EXPECT_EQ(client.status(), 200);
  }
}

}  // namespace
}  // namespace steelyard::proxy
