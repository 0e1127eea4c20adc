// What a worker keeps for reuse follows the load of the last minute, not the largest there ever
// was.
#include <algorithm>
#include <array>
#include <gtest/gtest.h>

#include "steelyard/base/rng.h"

#include "test/proxy/sim_rig.h"

namespace steelyard::proxy {
namespace {

using testing::answer_ok;
using testing::Conn;
using testing::SimClient;
using testing::SimNode;
using testing::SimRig;
using namespace std::chrono_literals;

constexpr std::string_view kGet = "GET /x HTTP/1.1\r\nHost: t\r\n\r\n";
constexpr std::size_t kCalm = std::size_t{3} * 16;  // objects kept in any case

struct Crowds {
  explicit Crowds(std::uint64_t seed = 1)
      : rig([seed] {
          SimRig::Setup setup;
          setup.seed = seed;
          setup.options.pool.idle_timeout = 5s;
          return setup;
        }()) {
    rig.add_node([this](SimNode& node, Conn& conn) {
      if (answering) answer_ok(node, conn);
    });
  }
  // All at a time; answered and gone.
  void come(std::size_t many) {
    answering = false;
    while (rig.clients.size() < many) rig.dial().send(kGet);
    EXPECT_TRUE(rig.until([&] { return rig.worker->exchanges() == many; }));
    answering = true;
    EXPECT_TRUE(rig.until([&] {
      return std::all_of(rig.clients.begin(), rig.clients.end(),
                         [](const SimClient& client) { return client.in.ends_with("ok"); });
    }));
    leave();
  }
  void leave() {
    rig.clients.clear();
    EXPECT_TRUE(rig.until([&] { return rig.worker->connections() == 0; }));
    rig.nodes[0].conns.erase(std::remove_if(rig.nodes[0].conns.begin(), rig.nodes[0].conns.end(),
                                            [](const Conn& conn) {
                                              return !conn.open || conn.peer->was_reset() ||
                                                     conn.peer->ended();
                                            }),
                             rig.nodes[0].conns.end());
  }
  [[nodiscard]] std::uint64_t freed() const { return rig.worker->metrics().trimmed.read(); }

  bool answering = true;
  SimRig rig;
};

TEST(Trim, ObjectsOfACrowdAreFreedAndAnotherCrowdIsServed) {
  Crowds crowds;
  SimRig& rig = crowds.rig;
  for (int round = 0; round < 3; ++round) {
    crowds.come(300);
    const std::size_t most = rig.worker->objects();
    EXPECT_GE(most, 900U);
    rig.run(40s, 100ms);
    EXPECT_EQ(rig.worker->objects(), most) << "the crowd may come back";
    ASSERT_TRUE(rig.until([&] { return rig.worker->objects() <= kCalm; }, 100s));
    EXPECT_GT(crowds.freed(), 300'000U * (static_cast<unsigned>(round) + 1));
  }
}

TEST(Trim, WhatIsInUseStays) {
  Crowds crowds;
  SimRig& rig = crowds.rig;
  for (int i = 0; i < 100; ++i) rig.dial().send(kGet);
  ASSERT_TRUE(rig.until([&] { return rig.worker->metrics().answers[2].read() == 100; }));
  for (int round = 0; round < 4; ++round) {
    rig.run(60s, 100ms);
    for (auto& client : rig.clients) client.send(kGet);
  }
  ASSERT_TRUE(rig.until([&] { return rig.worker->metrics().answers[2].read() == 500; }));
  EXPECT_EQ(rig.worker->connections(), 100U);
  EXPECT_LE(rig.worker->objects(), 3 * 100U);
}

TEST(Trim, ACrowdThatComesBackWithinAMinuteFindsEverything) {
  Crowds crowds;
  SimRig& rig = crowds.rig;
  crowds.come(200);
  rig.run(30s, 100ms);
  const std::size_t most = rig.worker->objects();
  for (int round = 0; round < 6; ++round) {
    crowds.come(200);
    EXPECT_EQ(rig.worker->objects(), most);
    rig.run(30s, 100ms);
  }
}

TEST(Trim, IsALittleATurn) {
  Crowds crowds;
  SimRig& rig = crowds.rig;
  crowds.come(1000);
  std::size_t last = rig.worker->objects();
  unsigned steps = 0;
  for (const auto end = rig.now() + 100s; last > kCalm && rig.now() < end;) {
    rig.worker->turn(rig.now() + 1s);
    const std::size_t left = rig.worker->objects();
    EXPECT_LE(last - left, 3 * 64U);
    if (left < last) ++steps;
    last = left;
  }
  EXPECT_LE(last, kCalm);
  EXPECT_GE(steps, 15U);
}

// However exchanges and connections end, nothing names an object that was freed (ASan tells).
TEST(Trim, ObjectsThatEndedInEveryWayCanGo) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    SCOPED_TRACE(seed);
    Crowds crowds(seed);
    SimRig& rig = crowds.rig;
    base::Rng rng(seed);
    constexpr std::array<std::string_view, 5> kFirst{
        kGet, "GET /x HT", "POST /x HTTP/1.1\r\nHost: t\r\nContent-Length: 90\r\n\r\nhalf",
        "@\r\n\r\n", "GET /x HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n"};
    for (int round = 0; round < 3; ++round) {
      crowds.answering = false;
      for (int i = 0; i < 120; ++i) {
        rig.dial().send(kFirst[rng.below(kFirst.size())]);
        if (i % 8 != 0) continue;
        auto& client = rig.clients[rng.below(rig.clients.size())];
        if (client.peer != nullptr) rng.below(2) == 0 ? client.peer->reset() : client.peer->end();
        rig.run(1ms);
      }
      for (auto& conn : rig.nodes[0].conns) {
        if (conn.open && rng.below(4) == 0) conn.reset();
      }
      rig.run(5ms);
      crowds.answering = true;
      rig.run(10s, 10ms);
      crowds.leave();
      ASSERT_TRUE(rig.until([&] { return rig.worker->objects() <= kCalm; }, 150s));
    }
    rig.dial().send(kGet);
    ASSERT_TRUE(rig.until([&] { return rig.clients[0].status() == 200; }));
  }
}

TEST(Trim, AWorkerThatStopsAsItTrimsEndsCleanly) {
  Crowds crowds;
  SimRig& rig = crowds.rig;
  crowds.come(600);
  const std::size_t most = rig.worker->objects();
  ASSERT_TRUE(rig.until([&] { return rig.worker->objects() < most; }, 100s));
  EXPECT_GT(rig.worker->objects(), kCalm);
  rig.worker->drain(rig.now(), rig.now() + 1s);
  EXPECT_TRUE(rig.until([&] { return rig.worker->finished(); }, 5s));
}

}  // namespace
}  // namespace steelyard::proxy
