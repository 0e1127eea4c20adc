// What the io_uring back end promises of sending, beyond the contract.
#include <algorithm>
#include <array>
#include <cerrno>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <string_view>
#include <sys/resource.h>
#include <sys/socket.h>
#include <utility>
#include <vector>

#include "test/io/uring_rig.h"

namespace steelyard::io {
namespace {

// Notes what happens, and gives what comes to another.
struct Passing final : Quiet {
  Passing(char n, std::string& l, std::unique_ptr<Stream>& t) : name(n), log(l), to(t) {}
  void on_open(const PeerInfo&) noexcept override { stream->grant(1 << 20); }
  void on_bytes(Buf bytes) noexcept override {
    got += bytes.size();
    if (bytes.size() > 2 * kBuffer) log += name;
    to->write(std::move(bytes));
  }
  char name;
  std::string& log;
  std::unique_ptr<Stream>& to;
  std::size_t got = 0;
};
struct Taking final : Quiet {
  Taking(char n, std::string& l) : name(n), log(l) {}
  void on_sent(std::size_t bytes) noexcept override {
    if (bytes > 2 * kBuffer) log += name;
  }
  char name;
  std::string& log;
};

TEST_F(Uring, ALargePieceIsSentBeforeTheNextIsReceived) {
  constexpr std::size_t kPiece = 4 * kBuffer;
  std::string log;
  Taking a_out('A', log), b_out('B', log);
  Passing a('a', log, a_out.stream), b('b', log, b_out.stream);
  std::vector<Fd> far;
  for (auto [from, to] : {std::pair<Quiet*, Quiet*>(&a, &a_out), {&b, &b_out}}) {
    auto [in, in_far] = socket_pair(2 * kPiece);
    const std::string text = pattern(kPiece);
    ASSERT_EQ(::send(in_far.get(), text.data(), text.size(), MSG_NOSIGNAL), ssize_t{kPiece});
    auto [out, out_far] = socket_pair(2 * kPiece);
    to->stream = reactor->adopt(std::move(out), *to);
    from->stream = reactor->adopt(std::move(in), *from);
    far.push_back(std::move(in_far));
    far.push_back(std::move(out_far));
  }
  ASSERT_TRUE(until([&] { return a.got == kPiece && b.got == kPiece; }));
  EXPECT_EQ(log, "aAbB");
}

// 1,000 streams hold what they got, 64 senders go on at full speed: nobody waits for a buffer.
TEST_F(Uring, SlowReadersDoNotStopFastSenders) {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_cur < 2300) GTEST_SKIP() << "needs 2300 descriptors";
  std::vector<std::unique_ptr<Hoard>> slow;
  std::vector<Fd> far;
  const std::string part = pattern(20000);
  for (int i = 0; i < 1000; ++i) {
    auto [near, other] = socket_pair();
    slow.push_back(std::make_unique<Hoard>(kBuffer));
    slow.back()->stream = reactor->adopt(std::move(near), *slow.back());
    ASSERT_EQ(::send(other.get(), part.data(), part.size(), MSG_NOSIGNAL), 20000);
    far.push_back(std::move(other));
  }
  std::vector<std::unique_ptr<Sink>> fast;
  std::vector<Fd> senders;
  for (int i = 0; i < 64; ++i) {
    auto [near, other] = socket_pair();
    fast.push_back(std::make_unique<Sink>());
    fast.back()->stream = reactor->adopt(std::move(near), *fast.back());
    senders.push_back(std::move(other));
  }
  ASSERT_TRUE(until([&] {
    for (const Fd& sender : senders) {
      (void)::send(sender.get(), part.data(), part.size(), MSG_NOSIGNAL);
    }
    return std::all_of(fast.begin(), fast.end(), [](const auto& s) { return s->got > 1'000'000; });
  }));
  EXPECT_TRUE(std::all_of(slow.begin(), slow.end(), [](const auto& h) { return h->got == 20000; }));
  EXPECT_LE(reactor->stats().receive_bytes, UringOptions{}.buffers / 2 * kBuffer);
}

// Small sends ask for no completion; what does not fit must still be sent, in order, once.
TEST_F(Uring, SmallSendsThatDoNotFitAreCompleted) {
  for (const int buffer : {0, 4096}) {
    Counting events;
    auto [near, far] = socket_pair(buffer);
    events.stream = reactor->adopt(std::move(near), events);
    const std::string text = pattern(buffer == 0 ? 3'000'000 : 200'000);
    std::size_t written = 0;
    std::string got;
    std::array<char, 3000> room;
    int turn = 0;
    ASSERT_TRUE(until([&] {
      const std::size_t size = std::min<std::size_t>(9000, text.size() - written);
      if (size > 0 && events.stream->unsent() < 30000) {
        events.stream->write(slab_of(*reactor, std::string_view(text).substr(written, size)));
        written += size;
      }
      // It reads in bursts, so that the buffer is full again and again.
      for (int i = ++turn % 4 == 0 ? 0 : 40; i < 40; ++i) {
        const ssize_t n = ::recv(far.get(), room.data(), room.size(), 0);
        if (n <= 0) break;
        got.append(room.data(), static_cast<std::size_t>(n));
      }
      EXPECT_EQ(events.sent + events.stream->unsent(), written);
      return got.size() == text.size();
    }));
    EXPECT_TRUE(got == text);
    EXPECT_EQ(events.sent, text.size());
  }
}

TEST_F(Uring, ALoneSmallSendIsReportedSoon) {
  Counting events;
  auto [near, far] = socket_pair();
  events.stream = reactor->adopt(std::move(near), events);
  ASSERT_TRUE(until([&] { return events.opened; }));
  const TimePoint start = steady_now();
  events.stream->write(Buf::of_static("hello"));
  for (int turns = 0; events.sent == 0 && turns < 3; ++turns) reactor->run_turn(start + 60s);
  EXPECT_EQ(events.sent, 5U);
  EXPECT_LT(steady_now() - start, 10s);
}

TEST_F(Uring, AFinFollowsTheBytesWithoutAnotherEvent) {
  Counting events;
  auto [near, far] = tcp_pair();
  events.stream = reactor->adopt(std::move(near), events);
  ASSERT_TRUE(until([&] { return events.opened; }));
  events.stream->write(Buf::of_static("goodbye"));
  events.stream->end_write();
  const TimePoint start = steady_now();
  reactor->run_turn(start + 60s);  // ends when the bytes are sent
  reactor->run_turn(steady_now());
  std::array<char, 16> room;
  EXPECT_EQ(::recv(far.get(), room.data(), room.size(), MSG_DONTWAIT), 7);
  EXPECT_EQ(::recv(far.get(), room.data(), room.size(), MSG_DONTWAIT), 0);
  EXPECT_LT(steady_now() - start, 10s);
}

TEST_F(Uring, ABlockedSendLetsGoOfItsBytesWhenItsStreamIsDestroyed) {
  Counting events;
  auto [near, far] = tcp_pair();
  events.stream = reactor->adopt(std::move(near), events);
  const std::string part = pattern(100000);
  std::size_t before = 1;
  int same = 0;
  ASSERT_TRUE(until([&] {  // until nothing moves any more
    if (events.stream->unsent() < 4 * part.size()) events.stream->write(slab_of(*reactor, part));
    same = events.sent == before ? same + 1 : 0;
    before = events.sent;
    return same > 20 && events.stream->unsent() >= 4 * part.size();
  }));
  events.stream.reset();
  EXPECT_EQ(reactor->stats().streams, 0U);
  EXPECT_TRUE(until([&] { return reactor->stats().operations == 0; }));
  EXPECT_EQ(reactor->stats().slab_bytes, 0U);
  std::array<char, 4096> room;
  ssize_t n = 0;
  while ((n = ::recv(far.get(), room.data(), room.size(), 0)) > 0) {
  }
  EXPECT_EQ(n, -1);
  EXPECT_EQ(errno, ECONNRESET);  // R8
}

}  // namespace
}  // namespace steelyard::io
