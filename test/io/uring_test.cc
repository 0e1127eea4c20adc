// What the io_uring back end promises beyond the contract. Skipped where the kernel has no
// io_uring.
#include "steelyard/io/uring.h"

#include <array>
#include <cerrno>
#include <dirent.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <set>
#include <string>
#include <sys/resource.h>
#include <sys/socket.h>
#include <vector>

#include "steelyard/base/rng.h"
#include "steelyard/io/sockaddr.h"
#include "steelyard/io/socket.h"
#include "steelyard/io/uring_ring.h"

#include "test/io/streams.h"

namespace steelyard::io {
namespace {

constexpr std::size_t kBuffer = UringOptions{}.buffer;

class Uring : public testing::Test {
 protected:
  void SetUp() override {
    const UringProbe probe = probe_uring();
    if (!probe.usable) GTEST_SKIP() << probe.reason;
    auto made = make_uring_reactor({.wake = probe.wake});
    ASSERT_TRUE(made) << made.error().describe();
    reactor = std::move(*made);
  }
  bool until(const std::function<bool()>& done) { return turn_until(*reactor, done); }

  std::unique_ptr<Reactor> reactor;
};

std::pair<Fd, Fd> socket_pair(int send_buffer = 0) {
  std::array<int, 2> ends{};
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends.data()), 0);
  for (const int fd : ends) {
    if (send_buffer > 0) {
      ::setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &send_buffer, sizeof send_buffer);
    }
  }
  return {Fd(ends[0]), Fd(ends[1])};
}

std::pair<Fd, Fd> tcp_pair() {
  const Fd listening = std::move(*listen_tcp(Address::loopback(0)));
  const SocketAddress at = to_kernel(*local_address(listening));
  Fd far(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  EXPECT_EQ(::connect(far.get(), &at.at.any, at.size), 0);
  return {Fd(::accept4(listening.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC)),
          std::move(far)};
}

// Keeps what it gets, as a client that reads slowly makes the proxy do.
struct Hoard final : Quiet {
  explicit Hoard(std::size_t c) : credit(c) {}
  void on_open(const PeerInfo&) noexcept override {
    opened = true;
    stream->grant(credit);
  }
  void on_bytes(Buf bytes) noexcept override {
    got += bytes.size();
    kept.push_back(std::move(bytes));
  }
  std::size_t credit;
  std::size_t got = 0;
  std::vector<Buf> kept;
};

struct Sink final : Quiet {
  void on_open(const PeerInfo&) noexcept override {
    opened = true;
    stream->grant(kBuffer);
  }
  void on_bytes(Buf bytes) noexcept override {
    got += bytes.size();
    stream->grant(bytes.size());
  }
  std::size_t got = 0;
};

struct Counting final : Quiet {
  void on_sent(std::size_t bytes) noexcept override { sent += bytes; }
  std::size_t sent = 0;
};

std::string pattern(std::size_t size) {
  base::Rng rng(5);
  std::string out(size, '\0');
  for (char& c : out) c = static_cast<char>('!' + rng.below(90));
  return out;
}

Buf slab_of(Reactor& reactor, std::string_view text) {
  Slab slab = reactor.slab(text.size());
  std::copy(text.begin(), text.end(), slab.text());
  return std::move(slab).take(text.size());
}

std::size_t open_descriptors() {
  std::size_t count = 0;
  DIR* const dir = ::opendir("/proc/self/fd");
  while (::readdir(dir) != nullptr) ++count;
  ::closedir(dir);
  return count;
}

TEST(UringRing, RefusesWhatTheReactorDoesNotUse) {
  const UringProbe probe = probe_uring();
  if (!probe.usable) GTEST_SKIP() << probe.reason;
  auto ring = UringRing::make({.entries = 8, .completions = 16, .wake = probe.wake});
  ASSERT_TRUE(ring) << ring.error().describe();
  ASSERT_TRUE((*ring)->enable());
  const auto result_of = [&](std::uint8_t opcode, std::uint8_t flags) {
    io_uring_sqe& entry = (*ring)->entry();
    entry.opcode = opcode;
    entry.flags = flags;
    entry.fd = -1;
    EXPECT_EQ((*ring)->enter(1, 10s), 0);
    EXPECT_EQ((*ring)->completed(), 1U);
    const std::int32_t result = (*ring)->completion(0).res;
    (*ring)->let_go(1);
    return result;
  };
  const std::set<std::uint8_t> used(kUringOpcodes.begin(), kUringOpcodes.end());
  for (std::uint8_t opcode = 0; opcode <= IORING_OP_SEND_ZC; ++opcode) {
    if (used.contains(opcode)) {
      EXPECT_NE(result_of(opcode, 0), -EACCES) << int{opcode};
    } else {
      EXPECT_EQ(result_of(opcode, 0), -EACCES) << int{opcode};
    }
  }
  EXPECT_EQ(result_of(IORING_OP_RECV, IOSQE_ASYNC), -EACCES);
  alignas(4096) std::array<io_uring_buf, 256> late{};
  EXPECT_FALSE((*ring)->add_buffers(late.data(), 256));
}

TEST_F(Uring, AStreamPinsTwoRingBuffersAtMost) {
  Hoard hoard(1 << 20);
  auto [near, far] = socket_pair();
  hoard.stream = reactor->adopt(std::move(near), hoard);
  const std::string part = pattern(4096);
  std::string want;
  ASSERT_TRUE(until([&] {
    if (::send(far.get(), part.data(), part.size(), MSG_NOSIGNAL) > 0) want += part;
    return hoard.got > 12 * kBuffer;
  }));
  EXPECT_LE(reactor->stats().receive_bytes, 2 * kBuffer);
  std::string got;
  for (const Buf& buf : hoard.kept) got += buf.text();
  EXPECT_EQ(got, want.substr(0, got.size()));
  hoard.kept.clear();
  hoard.stream.reset();
  EXPECT_TRUE(until([&] { return reactor->stats().operations == 0; }));
  EXPECT_EQ(reactor->stats().slab_bytes, 0U);
  EXPECT_EQ(reactor->stats().receive_bytes, 0U);
}

TEST_F(Uring, AboveHalfTheRingLentBytesAreCopied) {
  std::vector<std::unique_ptr<Hoard>> hoards;
  std::vector<Fd> far;
  const unsigned half = UringOptions{}.buffers / 2;
  for (unsigned i = 0; i < half + 18; ++i) {
    auto [near, other] = socket_pair();
    hoards.push_back(std::make_unique<Hoard>(kBuffer));
    hoards.back()->stream = reactor->adopt(std::move(near), *hoards.back());
    ASSERT_EQ(::send(other.get(), "0123456789", 10, MSG_NOSIGNAL), 10);
    far.push_back(std::move(other));
    ASSERT_TRUE(until([&] { return hoards.back()->got == 10; }));
  }
  EXPECT_EQ(reactor->stats().receive_bytes, half * kBuffer);
  EXPECT_GT(reactor->stats().slab_bytes, 0U);
  for (const auto& hoard : hoards) EXPECT_EQ(hoard->kept.front().text(), "0123456789");
  hoards.clear();
  EXPECT_EQ(reactor->stats().receive_bytes, 0U);
}

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

// The kernel takes the buffers it has in turn, and all that were ever touched stay in memory.
TEST_F(Uring, AQuietWorkerTouchesFewBuffers) {
  struct Places final : Quiet {
    void on_open(const PeerInfo&) noexcept override { stream->grant(1 << 20); }
    void on_bytes(Buf bytes) noexcept override {
      got += bytes.size();
      seen.insert(bytes.data());
    }
    std::size_t got = 0;
    std::set<const std::byte*> seen;
  } places;
  auto [near, far] = socket_pair();
  places.stream = reactor->adopt(std::move(near), places);
  for (std::size_t i = 1; i <= 1000; ++i) {
    ASSERT_EQ(::send(far.get(), "x", 1, MSG_NOSIGNAL), 1);
    ASSERT_TRUE(until([&] { return places.got == i; }));
  }
  EXPECT_LE(places.seen.size(), 16U);
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

TEST_F(Uring, EveryAcceptHasTheAddressOfItsPeer) {
  const Fd socket = std::move(*listen_tcp(Address::loopback(0)));
  const SocketAddress at = to_kernel(*local_address(socket));
  std::vector<Fd> clients;
  std::set<Address> want;
  for (int i = 0; i < 40; ++i) {
    clients.emplace_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    ASSERT_EQ(::connect(clients.back().get(), &at.at.any, at.size), 0);
    want.insert(*local_address(clients.back()));
  }
  std::set<Address> got;
  struct Take final : AcceptEvents {
    void on_accept(Fd fd, const Address& peer) noexcept override {
      EXPECT_EQ(peer, *peer_address(fd));
      seen->insert(peer);
    }
    void on_stopped() noexcept override { stopped = true; }
    std::set<Address>* seen = nullptr;
    bool stopped = false;
  } accept;
  accept.seen = &got;
  auto listener = reactor->listen(socket, accept);
  listener->grant(1000);
  EXPECT_TRUE(until([&] { return got.size() == want.size(); }));
  EXPECT_EQ(got, want);
  EXPECT_LE(reactor->stats().operations, 4U);  // few are accepted ahead
  listener->stop();
  EXPECT_TRUE(until([&] { return accept.stopped; }));
  listener.reset();
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

TEST(UringReactor, GivesBackDescriptorsAndSlots) {
  const UringProbe probe = probe_uring();
  if (!probe.usable) GTEST_SKIP() << probe.reason;
  const std::size_t before = open_descriptors();
  for (int round = 0; round < 3; ++round) {
    const auto reactor = std::move(*make_uring_reactor({.wake = probe.wake}));
    const std::size_t with_reactor = open_descriptors();
    {
      std::array<Sink, 20> sinks;
      std::vector<Fd> far;
      for (Sink& sink : sinks) {
        auto [near, other] = socket_pair();
        sink.stream = reactor->adopt(std::move(near), sink);
        far.push_back(std::move(other));
      }
      EXPECT_TRUE(turn_until(*reactor, [&] { return sinks.back().opened; }));
      reactor->run_turn(steady_now());
      EXPECT_GT(reactor->stats().operations, 0U);
      for (std::size_t i = 0; i < 10; ++i) far[i].reset();
      EXPECT_TRUE(turn_until(*reactor, [&] { return sinks[9].ended; }));
    }
    EXPECT_TRUE(turn_until(*reactor, [&] { return reactor->stats().operations == 0; }));
    EXPECT_EQ(open_descriptors(), with_reactor);
  }
  EXPECT_EQ(open_descriptors(), before);
}

}  // namespace
}  // namespace steelyard::io
