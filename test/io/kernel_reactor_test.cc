// Promises of the reactors that need real sockets: no allocation, descriptors that run out,
// watches, fairness.
#include <array>
#include <fcntl.h>
#include <functional>
#include <gtest/gtest.h>
#include <string>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>
#include <vector>

#include "steelyard/io/clock.h"
#include "steelyard/io/epoll.h"
#include "steelyard/io/socket.h"

#include "test/io/allocations.h"
#include "test/io/streams.h"

namespace steelyard::io {
namespace {

using namespace std::chrono_literals;

class KernelReactor : public testing::TestWithParam<Backend> {
 protected:
  std::unique_ptr<Reactor> reactor = of(GetParam());
};

INSTANTIATE_TEST_SUITE_P(Backends, KernelReactor, testing::ValuesIn(usable_backends()),
                         [](const auto& row) { return std::string(to_text(row.param)); });

TEST_P(KernelReactor, AWarmEchoLoopAllocatesNothing) {
  const Fd socket = std::move(*listen_tcp(Address::loopback(0)));
  std::array<Echo, 4> servers;
  std::array<Client, 4> clients{Client{*reactor}, Client{*reactor}, Client{*reactor},
                                Client{*reactor}};
  std::size_t accepted = 0;
  Accept accept;
  accept.then = [&](Fd fd) {
    servers[accepted].stream = reactor->adopt(std::move(fd), servers[accepted]);
    ++accepted;
  };
  const auto listener = reactor->listen(socket, accept);
  listener->grant(4);
  for (auto& c : clients) c.stream = reactor->connect(*local_address(socket), {}, c);
  ASSERT_TRUE(turn_until(*reactor, [&] { return clients[3].answers > 200; }));
  const int before = clients[3].answers;
  const std::uint64_t count = allocations();
  while (clients[3].answers < before + 2000) reactor->run_turn(steady_now() + 5ms);
  EXPECT_EQ(allocations(), count);
}

TEST_P(KernelReactor, AWarmReactorOpensAndClosesConnectionsWithoutAllocating) {
  const Fd socket = std::move(*listen_tcp(Address::loopback(0)));
  const Address at = *local_address(socket);
  Echo server;
  Client client{*reactor};
  struct Time final : TimerEvents {
    void on_time() noexcept override {}
  } time;
  Accept accept;
  accept.then = [&](Fd fd) { server.stream = reactor->adopt(std::move(fd), server); };
  const auto listener = reactor->listen(socket, accept);
  listener->grant(1000);
  const auto once = [&] {
    client.answers = 0;
    client.got = 0;
    client.stream = reactor->connect(at, {}, client);
    const auto timer = reactor->timer(time);
    timer->at(reactor->now() + 1h);
    while (client.answers < 3 && !client.failed) reactor->run_turn(steady_now() + 5ms);
    client.stream.reset();
    server.stream.reset();
  };
  for (int i = 0; i < 20; ++i) once();
  const std::uint64_t count = allocations();
  for (int i = 0; i < 100; ++i) once();
  EXPECT_EQ(allocations(), count);
  EXPECT_FALSE(client.failed);
}

TEST_P(KernelReactor, PausesAcceptingWithoutADescriptorAndResumesWhenOneIsFree) {
  const Fd socket = std::move(*listen_tcp(Address::loopback(0)));
  const Address at = *local_address(socket);
  std::vector<std::unique_ptr<Quiet>> held;
  Accept accept;
  accept.then = [&](Fd fd) {
    held.push_back(std::make_unique<Quiet>());
    held.back()->stream = reactor->adopt(std::move(fd), *held.back());
  };
  const auto listener = reactor->listen(socket, accept);
  listener->grant(100);
  std::vector<std::unique_ptr<Quiet>> clients;
  for (int i = 0; i < 4; ++i) {
    clients.push_back(std::make_unique<Quiet>());
    clients.back()->stream = reactor->connect(at, {}, *clients.back());
    // The first goes all the way: sanitizers need a descriptor when they meet a type of object for
    // the first time.
    if (i == 0) {
      ASSERT_TRUE(turn_until(*reactor, [&] { return held.size() == 1 && held[0]->opened; }));
    }
  }
  rlimit before{};
  ::getrlimit(RLIMIT_NOFILE, &before);
  std::vector<Fd> fillers;  // below, every number is taken; so no accept can succeed
  const Fd probe(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const rlimit tight{static_cast<rlim_t>(probe.get()) + 8, before.rlim_max};
  ::setrlimit(RLIMIT_NOFILE, &tight);
  for (int fd = ::open("/dev/null", O_RDONLY | O_CLOEXEC); fd >= 0;
       fd = ::open("/dev/null", O_RDONLY | O_CLOEXEC)) {
    fillers.emplace_back(fd);
  }
  EXPECT_TRUE(turn_until(*reactor, [&] { return reactor->stats().accept_pauses > 0; }));
  EXPECT_LT(held.size(), 5U);  // io_uring: what was asked for before the limit may still come
  const std::uint64_t turns = reactor->stats().turns;
  const TimePoint pause = steady_now() + 50ms;
  while (steady_now() < pause) reactor->run_turn(pause);
  EXPECT_LT(reactor->stats().turns - turns, 20U);  // no busy loop
  // A connect still gets a descriptor: the reserve.
  Quiet upstream;
  upstream.stream = reactor->connect(at, {}, upstream);
  EXPECT_TRUE(turn_until(*reactor, [&] { return upstream.opened || upstream.failed; }));
  EXPECT_TRUE(upstream.opened);
  fillers.clear();
  ::setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_TRUE(turn_until(*reactor, [&] { return held.size() == 5; }));
}

// A connection that comes while one of two who share a listener stops accepting is taken by one of
// them, at once: not when the next one comes.
TEST_P(KernelReactor, AListenerThatStopsLeavesNoConnectionBehindForItsPeer) {
  for (int round = 0; round < 50; ++round) {
    const Fd socket = std::move(*listen_tcp(Address::loopback(0)));
    const Address at = *local_address(socket);
    const auto other = of(GetParam());
    std::size_t accepted = 0;
    std::array<Accept, 2> accepts;
    for (auto& accept : accepts) accept.then = [&](Fd) { ++accepted; };
    const auto first = reactor->listen(socket, accepts[0]);
    first->grant(4);
    reactor->run_turn(steady_now());
    const auto second = other->listen(socket, accepts[1]);
    second->grant(4);
    other->run_turn(steady_now());
    Quiet client;
    client.stream = other->connect(at, {}, client);
    other->run_turn(steady_now());
    if (round % 2 == 0) first->stop();
    const auto limit = steady_now() + 5s;
    while (accepted == 0 && steady_now() < limit) {
      reactor->run_turn(steady_now());
      if (round % 2 != 0) first->stop();
      other->run_turn(steady_now());
    }
    ASSERT_EQ(accepted, 1U) << "round " << round;
  }
}

TEST_P(KernelReactor, WatchesAnyDescriptor) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_NONBLOCK | O_CLOEXEC), 0);
  const Fd read(ends[0]);
  const Fd write(ends[1]);
  struct Ready final : WatchEvents {
    void on_ready() noexcept override {
      ++times;
      std::array<char, 64> room;
      while (::read(fd, room.data(), room.size()) > 0) {
      }
      if (destroy) watch.reset();
    }
    int fd = -1;
    int times = 0;
    bool destroy = false;
    std::unique_ptr<Watch> watch;
  } ready;
  ready.fd = read.get();
  ready.watch = reactor->watch(read, ready);
  for (int i = 1; i <= 3; ++i) {
    ASSERT_EQ(::write(write.get(), "x", 1), 1);
    ready.destroy = i == 3;
    EXPECT_TRUE(turn_until(*reactor, [&] { return ready.times == i; }));
  }
  ASSERT_EQ(::write(write.get(), "x", 1), 1);
  reactor->run_turn(steady_now() + 5ms);
  EXPECT_EQ(ready.times, 3);
  EXPECT_EQ(reactor->stats().watches, 0U);
}

// Slow readers pin what they hold: above the limit, received bytes are copied out of the shared
// blocks.
TEST(EpollReactor, PinnedReceiveBlocksAreBounded) {
  constexpr std::size_t kBlock = 256 << 10;
  const auto reactor = make_epoll_reactor({.lend_limit = 4 * kBlock});
  struct Hoard final : Quiet {
    void on_open(const PeerInfo&) noexcept override { stream->grant(4 << 20); }
    void on_bytes(Buf bytes) noexcept override {
      got += bytes.size();
      kept.push_back(std::move(bytes));
    }
    std::size_t got = 0;
    std::vector<Buf> kept;
  } hoard;
  std::array<int, 2> ends{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends.data()), 0);
  const Fd far(ends[1]);
  hoard.stream = reactor->adopt(Fd(ends[0]), hoard);
  const std::string part(16384, 'h');
  ASSERT_TRUE(turn_until(*reactor, [&] {
    (void)::send(far.get(), part.data(), part.size(), MSG_NOSIGNAL);
    return hoard.got > (3U << 20);
  }));
  EXPECT_LE(reactor->stats().receive_bytes, 5 * kBlock);
  EXPECT_GT(reactor->stats().slab_bytes, std::size_t{1} << 20);
  hoard.kept.clear();
  EXPECT_EQ(reactor->stats().slab_bytes, 0U);
  EXPECT_EQ(reactor->stats().receive_bytes, 0U);
  hoard.stream.reset();
}

// One fast sender must not keep the others waiting: at most 256 KiB of one stream a turn.
TEST_P(KernelReactor, ATurnTakesABoundedShareOfOneStream) {
  struct Sink final : Quiet {
    void on_open(const PeerInfo&) noexcept override { stream->grant(std::size_t{1} << 30); }
    void on_bytes(Buf bytes) noexcept override { got += bytes.size(); }
    std::size_t got = 0;
  } sink;
  std::array<int, 2> ends{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends.data()), 0);
  const Fd far(ends[1]);
  const int size = 4 << 20;
  ::setsockopt(far.get(), SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof size);
  const std::string part(64 << 10, 's');
  while (::send(far.get(), part.data(), part.size(), MSG_NOSIGNAL) > 0) {
  }
  sink.stream = reactor->adopt(Fd(ends[0]), sink);
  std::size_t before = 0;
  for (int i = 0; i < 4; ++i) {
    reactor->run_turn(steady_now());
    EXPECT_LE(sink.got - before, std::size_t{256} << 10);
    before = sink.got;
  }
  EXPECT_GT(sink.got, 0U);
}

}  // namespace
}  // namespace steelyard::io
