// What every back end of the reactor must do (io/reactor.h, R1–R8).
#include <algorithm>
#include <array>
#include <gtest/gtest.h>

#include "steelyard/io/clock.h"
#include "steelyard/io/thread.h"

#include "test/conformance/reactor_rig.h"

namespace steelyard::io::conformance {
namespace {

class ReactorConformance : public testing::TestWithParam<Backend> {
 protected:
  // An adopted, opened stream and its hand-moved other end.
  std::unique_ptr<Raw> open(Recorder& events) {
    auto [near, far] = rig->pair();
    events.stream = rig->reactor().adopt(std::move(near), events);
    EXPECT_TRUE(rig->until([&] { return events.opened; }));
    return std::move(far);
  }
  // Sends all of it, turning the reactor while the other end has no room.
  void send_all(Raw& raw, std::string_view text) {
    ASSERT_TRUE(rig->until([&] {
      text.remove_prefix(raw.send(text));
      return text.empty();
    }));
  }

  std::unique_ptr<Rig> rig = GetParam().make();
};

INSTANTIATE_TEST_SUITE_P(Backends, ReactorConformance, testing::ValuesIn(backends()),
                         [](const auto& row) { return row.param.name; });

TEST_P(ReactorConformance, GivesBytesInOrderThenTheEnd) {
  Recorder events;
  const auto far = open(events);
  events.grant(1 << 20);
  const std::string text = pattern(30000, 1);
  send_all(*far, text);
  far->end();
  ASSERT_TRUE(rig->until([&] { return events.ended; }));
  EXPECT_EQ(events.bytes, text);
  EXPECT_EQ(events.history(), "open, bytes, end");
}

TEST_P(ReactorConformance, TellsTheAddressesOfBothEnds) {
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

TEST_P(ReactorConformance, NeverGivesMoreThanGranted) {
  Recorder events;
  const auto far = open(events);
  const std::string text = pattern(5000, 2);
  send_all(*far, text);
  rig->settle();
  EXPECT_EQ(events.bytes, "");
  for (const std::size_t credit : {1U, 2U, 997U, 1000U}) {
    const std::size_t want = events.bytes.size() + credit;
    events.grant(credit);
    ASSERT_TRUE(rig->until([&] { return events.bytes.size() >= want; }));
    rig->settle();
    EXPECT_EQ(events.bytes.size(), want);
  }
  events.grant(1 << 20);
  ASSERT_TRUE(rig->until([&] { return events.bytes.size() == text.size(); }));
  EXPECT_EQ(events.bytes, text);
  EXPECT_FALSE(events.over_credit);
}

TEST_P(ReactorConformance, CreditAddsUp) {
  Recorder events;
  const auto far = open(events);
  events.grant(3);
  events.grant(4);
  send_all(*far, "0123456789");
  ASSERT_TRUE(rig->until([&] { return events.bytes.size() == 7; }));
  rig->settle();
  EXPECT_EQ(events.bytes, "0123456");
}

TEST_P(ReactorConformance, GivesBytesAndFinThatCameTogether) {
  Recorder events;
  auto [near, far] = rig->pair();
  send_all(*far, "last words");
  far->end();
  events.stream = rig->reactor().adopt(std::move(near), events);
  events.grant(100);
  ASSERT_TRUE(rig->until([&] { return events.ended; }));
  EXPECT_EQ(events.bytes, "last words");
  EXPECT_EQ(events.history(), "open, bytes, end");
}

TEST_P(ReactorConformance, GivesBytesAndFinOfOneEventToAnOpenStream) {
  Recorder events;
  const auto far = open(events);
  events.grant(100);
  rig->settle();
  send_all(*far, "last words");
  far->end();
  ASSERT_TRUE(rig->until([&] { return events.ended; }));
  EXPECT_EQ(events.history(), "open, bytes, end");
}

TEST_P(ReactorConformance, StillWritesAfterThePeersEnd) {
  Recorder events;
  const auto far = open(events);
  events.grant(10);
  far->end();
  ASSERT_TRUE(rig->until([&] { return events.ended; }));
  events.stream->write(Buf::heap_copy("answer"));
  events.stream->end_write();
  std::string got;
  ASSERT_TRUE(rig->until([&] {
    got += far->read(100);
    return far->ended();
  }));
  EXPECT_EQ(got, "answer");
  EXPECT_FALSE(events.failed);
}

TEST_P(ReactorConformance, StillReadsAfterItsOwnEnd) {
  Recorder events;
  const auto far = open(events);
  events.grant(100);
  events.stream->write(Buf::heap_copy("question"));
  events.stream->end_write();
  std::string got;
  ASSERT_TRUE(rig->until([&] {
    got += far->read(100);
    return far->ended();
  }));
  EXPECT_EQ(got, "question");
  send_all(*far, "answer");
  far->end();
  ASSERT_TRUE(rig->until([&] { return events.ended; }));
  EXPECT_EQ(events.bytes, "answer");
}

TEST_P(ReactorConformance, AClosedExchangeEndsWithoutReset) {
  Recorder events;
  const auto far = open(events);
  events.grant(100);
  far->end();
  ASSERT_TRUE(rig->until([&] { return events.ended; }));
  events.stream->write(Buf::heap_copy("answer"));
  events.stream->end_write();
  ASSERT_TRUE(rig->until([&] { return events.sent == 6; }));
  rig->settle();
  events.stream.reset();
  std::string got;
  ASSERT_TRUE(rig->until([&] {
    got += far->read(100);
    return far->ended();
  }));
  EXPECT_EQ(got, "answer");
  EXPECT_FALSE(far->was_reset());
}

TEST_P(ReactorConformance, DestroyingAnOpenStreamResetsIt) {
  Recorder events;
  const auto far = open(events);
  events.stream.reset();
  EXPECT_TRUE(rig->until([&] { return far->was_reset(); }));
  EXPECT_EQ(events.history(), "open");
}

TEST_P(ReactorConformance, AFinBehindUndeliveredBytesWaits) {
  Recorder events;
  const auto far = open(events);
  send_all(*far, "0123456789");
  far->end();
  rig->settle();
  EXPECT_EQ(events.history(), "open");
  events.grant(4);
  ASSERT_TRUE(rig->until([&] { return events.bytes.size() == 4; }));
  rig->settle();
  EXPECT_FALSE(events.ended);
  events.grant(6);
  ASSERT_TRUE(rig->until([&] { return events.ended; }));
  EXPECT_EQ(events.bytes, "0123456789");
}

TEST_P(ReactorConformance, AFinWithNothingBeforeItNeedsNoCredit) {
  Recorder events;
  const auto far = open(events);
  far->end();
  ASSERT_TRUE(rig->until([&] { return events.ended; }));
  EXPECT_EQ(events.history(), "open, end");
}

TEST_P(ReactorConformance, AResetAtZeroCreditFailsAtOnceAndDropsBytes) {
  Recorder events;
  const auto far = open(events);
  send_all(*far, "never seen");
  rig->settle();
  far->reset();
  ASSERT_TRUE(rig->until([&] { return events.failed; }));
  EXPECT_EQ(events.error.code, base::Code::kReset);
  EXPECT_EQ(events.bytes, "");
  events.grant(100);
  rig->settle();
  EXPECT_EQ(events.history(), "open, failed connection reset");
}

TEST_P(ReactorConformance, WithCreditTheBytesComeBeforeTheReset) {
  Recorder events;
  auto [near, far] = rig->pair();
  send_all(*far, "first");
  rig->settle();
  far->reset();
  events.stream = rig->reactor().adopt(std::move(near), events);
  events.grant(100);
  ASSERT_TRUE(rig->until([&] { return events.failed; }));
  EXPECT_EQ(events.bytes, "first");
  EXPECT_EQ(events.error.code, base::Code::kReset);
  EXPECT_EQ(events.error.origin, base::Origin::kClient);
  EXPECT_FALSE(events.error.retry_safe);
}

TEST_P(ReactorConformance, MayFailAfterTheEndAndThenSaysNothingMore) {
  Recorder events;
  const auto far = open(events);
  events.grant(100);
  far->end();
  ASSERT_TRUE(rig->until([&] { return events.ended; }));
  far->reset();
  events.stream->write(Buf::heap_copy("into the void"));
  ASSERT_TRUE(rig->until([&] {
    if (!events.failed) events.stream->write(Buf::heap_copy("more"));
    return events.failed;
  }));
  events.stream->write(Buf::heap_copy("ignored"));
  events.grant(5);
  rig->settle();
  EXPECT_EQ(events.history(), "open, end, failed connection reset");
  EXPECT_FALSE(events.after_failure);
  EXPECT_EQ(events.stream->unsent(), 0U);
}

TEST_P(ReactorConformance, ARefusedConnectSaysSoAndMayBeTriedElsewhere) {
  Recorder events;
  events.stream = rig->reactor().connect(rig->refusing(), {}, events);
  EXPECT_EQ(events.history(), "");
  ASSERT_TRUE(rig->until([&] { return events.failed; }));
  EXPECT_EQ(events.history(), "failed connection refused");
  EXPECT_EQ(events.error.code, base::Code::kRefused);
  EXPECT_EQ(events.error.origin, base::Origin::kNode);
  EXPECT_TRUE(events.error.retry_safe);
}

TEST_P(ReactorConformance, AConnectTimesOut) {
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

TEST_P(ReactorConformance, ADestroyedConnectSaysNothing) {
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

TEST_P(ReactorConformance, WhatIsWrittenBeforeTheConnectEndsIsSentAfterIt) {
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

TEST_P(ReactorConformance, CountsWhatIsUnsentAndWhatWasSent) {
  Recorder events;
  const auto far = open(events);
  EXPECT_EQ(events.stream->unsent(), 0U);
  for (int i = 0; i < 300; ++i) events.stream->write(Buf::heap_copy("0123456789"));
  events.stream->write(Buf::of_static(""));
  EXPECT_EQ(events.stream->unsent(), 3000U);
  std::string got;
  ASSERT_TRUE(rig->until([&] {
    got += far->read(1000);
    EXPECT_EQ(events.sent + events.stream->unsent(), 3000U);
    return got.size() == 3000;
  }));
  std::string want;
  for (int i = 0; i < 300; ++i) want += "0123456789";
  EXPECT_EQ(got, want);
  EXPECT_EQ(events.sent, 3000U);
}

TEST_P(ReactorConformance, ABufIsReleasedWhenItsBytesAreReportedSent) {
  struct Counted : base::Storage {
    static void done(base::Storage* s) noexcept { static_cast<Counted*>(s)->released = true; }
    bool released = false;
  } storage;
  storage.release = &Counted::done;
  const std::string text = pattern(100, 3);
  Recorder events;
  const auto far = open(events);
  events.stream->write(Buf(&storage, reinterpret_cast<const std::byte*>(text.data()), text.size()));
  bool released_in_time = false;
  events.when_sent = [&] { released_in_time = events.sent < 100 || storage.released; };
  ASSERT_TRUE(rig->until([&] { return events.sent == 100; }));
  EXPECT_TRUE(released_in_time);
}

// Our side keeps 64 KiB unsent at most and reads 4 KiB at a time; the other end reads slowly too.
TEST_P(ReactorConformance, CarriesAMebibyteBothWaysPastASlowReader) {
  constexpr std::size_t kSize = 1 << 20;
  constexpr std::size_t kHighWater = 64 << 10;
  const std::string up = pattern(kSize, 4);
  const std::string down = pattern(kSize, 5);
  Recorder events;
  const auto far = open(events);
  std::size_t queued = 0;
  std::size_t most_unsent = 0;
  const auto fill = [&] {
    while (queued < kSize && events.stream->unsent() < kHighWater) {
      const std::size_t size = std::min<std::size_t>(7777, kSize - queued);
      events.stream->write(Buf::heap_copy(std::string_view(down).substr(queued, size)));
      queued += size;
      most_unsent = std::max(most_unsent, events.stream->unsent());
      if (queued == kSize) events.stream->end_write();
    }
  };
  events.when_sent = fill;
  events.when_bytes = [&] {
    if (events.bytes.size() == events.granted) events.grant(4096);
  };
  events.grant(4096);
  fill();
  std::string got;
  std::string_view left = up;
  bool ended = false;
  ASSERT_TRUE(rig->until([&] {
    left.remove_prefix(far->send(left.substr(0, 10000)));
    if (left.empty() && !std::exchange(ended, true)) far->end();
    got += far->read(3000);
    return events.ended && far->ended();
  }));
  EXPECT_TRUE(events.bytes == up);
  EXPECT_TRUE(got == down);
  EXPECT_EQ(events.sent, kSize);
  EXPECT_LE(most_unsent, kHighWater + 7777);
  EXPECT_FALSE(events.over_credit);
}

TEST_P(ReactorConformance, AReaderThatStopsHoldsTheWriterBack) {
  Recorder events;
  const auto far = open(events);
  const std::string text = pattern(100000, 6);
  std::size_t taken = 0;
  int full = 0;
  ASSERT_TRUE(rig->until([&] {  // until the other end has had no room for many turns
    const std::size_t now = far->send(text);
    taken += now;
    full = now == 0 ? full + 1 : 0;
    return full > 20;
  }));
  EXPECT_EQ(events.bytes, "");
  EXPECT_LT(taken, std::size_t{64} << 20);
}

TEST_P(ReactorConformance, AcceptsAsManyAsGranted) {
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

TEST_P(ReactorConformance, OnStoppedFollowsTheLastAccept) {
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

TEST_P(ReactorConformance, TasksOfOtherThreadsRunOnceAndInOrder) {
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

TEST_P(ReactorConformance, ATaskPostedByATaskRunsLater) {
  std::string order;
  rig->reactor().post(make_task([&] {
    rig->reactor().post(make_task([&] { order += "b"; }));
    order += "a";
  }));
  ASSERT_TRUE(rig->until([&] { return order == "ab"; }));
}

TEST_P(ReactorConformance, ATaskThatNeverRanDiesWithTheReactor) {
  auto kept = std::make_shared<int>(1);
  rig->reactor().post(make_task([kept] { ADD_FAILURE(); }));
  rig.reset();
  EXPECT_EQ(kept.use_count(), 1);
}

TEST_P(ReactorConformance, NoCallbackRunsInsideACall) {
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

TEST_P(ReactorConformance, SlabsAreWritableAndCounted) {
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

TEST_P(ReactorConformance, StatsCountHandles) {
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
