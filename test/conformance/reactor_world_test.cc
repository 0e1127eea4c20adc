// Connects, listeners, posts, slabs and re-entry of every back end (io/reactor.h, R1, R7).
#include <algorithm>
#include <array>
#include <gtest/gtest.h>

#include "steelyard/io/clock.h"
#include "steelyard/io/thread.h"

#include "test/conformance/reactor_fixture.h"

namespace steelyard::io::conformance {
namespace {

class ReactorWorld : public ReactorConformance {};

INSTANTIATE_TEST_SUITE_P(Backends, ReactorWorld, testing::ValuesIn(backends()),
                         [](const auto& row) { return row.param.name; });

TEST_P(ReactorWorld, TellsTheAddressesOfBothEnds) {
  Address at;
  const Fd socket = rig->listener(at);
  struct Accept final : AcceptEvents {
    void on_accept(Fd fd, const Address& from) noexcept override {
      peer = from;
      stream.stream = reactor->adopt(std::move(fd), stream);
    }
    void on_stopped() noexcept override {}
    Reactor* reactor = nullptr;
    Address peer;
    Recorder stream;
  } accept;
  accept.reactor = &rig->reactor();
  const auto listener = rig->reactor().listen(socket, accept);
  listener->grant(1);
  Recorder client;
  client.stream = rig->reactor().connect(at, {}, client);
  ASSERT_TRUE(rig->until([&] { return accept.stream.opened && client.opened; }));
  EXPECT_EQ(accept.stream.peer.local, at);
  EXPECT_EQ(accept.stream.peer.remote, accept.peer);
  EXPECT_EQ(client.peer.remote, at);
  EXPECT_TRUE(accept.peer.valid());
  EXPECT_FALSE(client.peer.tls);
}

TEST_P(ReactorWorld, ARefusedConnectSaysSoAndMayBeTriedElsewhere) {
  Recorder events;
  events.stream = rig->reactor().connect(rig->refusing(), {}, events);
  EXPECT_EQ(events.history(), "");
  ASSERT_TRUE(rig->until([&] { return events.failed; }));
  EXPECT_EQ(events.history(), "failed connection refused");
  EXPECT_EQ(events.error.code, base::Code::kRefused);
  EXPECT_EQ(events.error.origin, base::Origin::kNode);
  EXPECT_TRUE(events.error.retry_safe);
}

TEST_P(ReactorWorld, AConnectTimesOut) {
  Recorder events;
  const Address silent = rig->silent();
  rig->settle();
  const TimePoint start = rig->reactor().now();
  events.stream = rig->reactor().connect(silent, {.timeout = 50ms}, events);
  events.stream->write(Buf::heap_copy("never sent"));
  events.grant(10);
  ASSERT_TRUE(rig->until([&] { return events.failed; }));
  EXPECT_EQ(events.error.code, base::Code::kTimeout);
  EXPECT_EQ(events.error.origin, base::Origin::kNode);
  EXPECT_TRUE(events.error.retry_safe);
  EXPECT_GE(rig->reactor().now() - start, 50ms);
  EXPECT_EQ(events.sent, 0U);
}

TEST_P(ReactorWorld, ADestroyedConnectSaysNothing) {
  Address at;
  const Fd socket = rig->listener(at);
  for (const Address& to : {at, rig->refusing(), rig->silent()}) {
    Recorder events;
    events.stream = rig->reactor().connect(to, {.timeout = 5ms}, events);
    events.stream.reset();
    rig->settle();
    EXPECT_EQ(events.history(), "");
  }
  EXPECT_EQ(rig->reactor().stats().streams, 0U);
  EXPECT_EQ(rig->outstanding(), 0U);
}

TEST_P(ReactorWorld, WhatIsWrittenBeforeTheConnectEndsIsSentAfterIt) {
  Address at;
  const Fd socket = rig->listener(at);
  struct Accept final : AcceptEvents {
    void on_accept(Fd fd, const Address&) noexcept override {
      stream.stream = reactor->adopt(std::move(fd), stream);
      stream.grant(1000);
    }
    void on_stopped() noexcept override {}
    Reactor* reactor = nullptr;
    Recorder stream;
  } accept;
  accept.reactor = &rig->reactor();
  const auto listener = rig->reactor().listen(socket, accept);
  listener->grant(1);
  Recorder client;
  client.stream = rig->reactor().connect(at, {}, client);
  client.stream->write(Buf::heap_copy("GET "));
  client.stream->write(Buf::of_static("/"));
  client.stream->end_write();
  ASSERT_TRUE(rig->until([&] { return accept.stream.ended; }));
  EXPECT_EQ(accept.stream.bytes, "GET /");
  EXPECT_EQ(client.sent, 5U);
}

TEST_P(ReactorWorld, AcceptsAsManyAsGranted) {
  struct Accept final : AcceptEvents {
    void on_accept(Fd fd, const Address&) noexcept override { sockets.push_back(std::move(fd)); }
    void on_stopped() noexcept override { ++stopped; }
    std::vector<Fd> sockets;
    int stopped = 0;
  } accept;
  Address at;
  const Fd socket = rig->listener(at);
  auto listener = rig->reactor().listen(socket, accept);
  std::vector<std::unique_ptr<Raw>> clients;
  for (int i = 0; i < 4; ++i) clients.push_back(rig->dial(at));
  rig->settle();
  EXPECT_EQ(accept.sockets.size(), 0U);
  listener->grant(2);
  rig->settle();
  EXPECT_EQ(accept.sockets.size(), 2U);
  listener->grant(1);
  rig->settle();
  EXPECT_EQ(accept.sockets.size(), 3U);
  listener->stop();
  EXPECT_EQ(accept.stopped, 0);
  ASSERT_TRUE(rig->until([&] { return accept.stopped == 1; }));
  const std::size_t before = accept.sockets.size();
  listener->grant(10);
  rig->settle();
  EXPECT_EQ(accept.sockets.size(), before);
  EXPECT_EQ(accept.stopped, 1);
  listener.reset();
  // The socket was only borrowed: what waits in its queue goes to the next owner.
  listener = rig->reactor().listen(socket, accept);
  listener->grant(10);
  ASSERT_TRUE(rig->until([&] { return accept.sockets.size() == 4; }));
  listener->stop();
  ASSERT_TRUE(rig->until([&] { return accept.stopped == 2; }));
}

TEST_P(ReactorWorld, OnStoppedFollowsTheLastAccept) {
  struct Accept final : AcceptEvents {
    void on_accept(Fd fd, const Address&) noexcept override {
      late = late || stopped;
      sockets.push_back(std::move(fd));
    }
    void on_stopped() noexcept override { stopped = true; }
    std::vector<Fd> sockets;
    bool stopped = false;
    bool late = false;
  };
  for (int wait = 0; wait < 8; ++wait) {
    Accept accept;
    Address at;
    const Fd socket = rig->listener(at);
    const auto listener = rig->reactor().listen(socket, accept);
    listener->grant(8);
    std::vector<std::unique_ptr<Raw>> clients;
    for (int i = 0; i < 6; ++i) clients.push_back(rig->dial(at));
    for (int i = 0; i < wait; ++i) rig->reactor().run_turn(rig->reactor().now());
    listener->stop();
    ASSERT_TRUE(rig->until([&] { return accept.stopped; }));
    rig->settle();
    EXPECT_FALSE(accept.late);
    EXPECT_LE(accept.sockets.size(), 6U);
  }
}

TEST_P(ReactorWorld, TasksOfOtherThreadsRunOnceAndInOrder) {
  constexpr int kThreads = 4;
  constexpr int kEach = 500;
  std::array<int, kThreads> next{};
  int wrong = 0;
  {
    std::vector<Thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back("poster", [&, t] {
        for (int i = 0; i < kEach; ++i) {
          rig->reactor().post(make_task([&, t, i] {
            if (next[static_cast<std::size_t>(t)] != i) ++wrong;
            ++next[static_cast<std::size_t>(t)];
          }));
        }
      });
    }
    // By the real clock: the threads take real time, whatever the reactor's clock says.
    const TimePoint give_up = steady_now() + 20s;
    const auto all_came = [&] {
      return std::all_of(next.begin(), next.end(), [](int n) { return n == kEach; });
    };
    while (!all_came() && steady_now() < give_up) {
      rig->reactor().run_turn(rig->reactor().now() + 1ms);
    }
    EXPECT_TRUE(all_came());
  }
  EXPECT_EQ(wrong, 0);
}

TEST_P(ReactorWorld, ATaskPostedByATaskRunsLater) {
  std::string order;
  rig->reactor().post(make_task([&] {
    rig->reactor().post(make_task([&] { order += "b"; }));
    order += "a";
  }));
  ASSERT_TRUE(rig->until([&] { return order == "ab"; }));
}

TEST_P(ReactorWorld, ATaskThatNeverRanDiesWithTheReactor) {
  auto kept = std::make_shared<int>(1);
  rig->reactor().post(make_task([kept] { ADD_FAILURE(); }));
  rig.reset();
  EXPECT_EQ(kept.use_count(), 1);
}

TEST_P(ReactorWorld, NoCallbackRunsInsideACall) {
  Calls calls;
  Address at;
  const Fd socket = rig->listener(at);
  struct Accept final : AcceptEvents {
    void on_accept(Fd, const Address&) noexcept override {
      reentered = reentered || calls->inside();
    }
    void on_stopped() noexcept override { reentered = reentered || calls->inside(); }
    Calls* calls = nullptr;
    bool reentered = false;
  } accept;
  struct Time final : TimerEvents {
    void on_time() noexcept override { reentered = reentered || calls->inside(); }
    Calls* calls = nullptr;
    bool reentered = false;
  } time;
  accept.calls = time.calls = &calls;
  Reactor& reactor = rig->reactor();
  const auto client = rig->dial(at);
  rig->settle();
  auto listener = calls([&] { return reactor.listen(socket, accept); });
  calls([&] { listener->grant(1); });
  auto timer = calls([&] { return reactor.timer(time); });
  calls([&] { timer->at(reactor.now() - 1s); });
  auto [near, far] = rig->pair();
  send_all(*far, "waiting");
  Recorder adopted;
  adopted.calls = &calls;
  adopted.stream = calls([&] { return reactor.adopt(std::move(near), adopted); });
  ASSERT_TRUE(rig->until([&] { return adopted.opened; }));
  rig->settle();
  calls([&] {
    adopted.grant(100);
    adopted.stream->write(Buf::heap_copy("x"));
    adopted.stream->end_write();
    reactor.post(make_task([] {}));
  });
  Recorder refused;
  refused.calls = &calls;
  refused.stream = calls([&] { return reactor.connect(rig->refusing(), {}, refused); });
  calls([&] { listener->stop(); });
  ASSERT_TRUE(rig->until(
      [&] { return refused.failed && adopted.bytes == "waiting" && adopted.sent == 1; }));
  calls([&] { adopted.stream.reset(); });
  EXPECT_FALSE(adopted.reentered || refused.reentered || accept.reentered || time.reentered);
}

TEST_P(ReactorWorld, SlabsAreWritableAndCounted) {
  Reactor& reactor = rig->reactor();
  const std::size_t before = reactor.stats().slab_bytes;
  for (const std::size_t size : {1U, 100U, 4096U, 70000U, 1000000U}) {
    Slab slab = reactor.slab(size);
    ASSERT_GE(slab.capacity(), size);
    std::fill_n(slab.text(), size, 'x');
    EXPECT_GE(reactor.stats().slab_bytes, before + size);
    const Buf buf = std::move(slab).take(size);
    const Buf half = buf.share(0, size / 2);
    EXPECT_EQ(buf.text(), std::string(size, 'x'));
    EXPECT_EQ(half.size(), size / 2);
  }
  EXPECT_EQ(reactor.stats().slab_bytes, before);
}

TEST_P(ReactorWorld, StatsCountHandles) {
  Recorder events;
  const auto far = open(events);
  struct Time final : TimerEvents {
    void on_time() noexcept override {}
  } time;
  auto timer = rig->reactor().timer(time);
  EXPECT_EQ(rig->reactor().stats().streams, 1U);
  EXPECT_EQ(rig->reactor().stats().timers, 1U);
  events.stream.reset();
  timer.reset();
  EXPECT_EQ(rig->reactor().stats().streams, 0U);
  EXPECT_EQ(rig->reactor().stats().timers, 0U);
}

}  // namespace
}  // namespace steelyard::io::conformance
