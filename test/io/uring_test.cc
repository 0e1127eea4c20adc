// What the io_uring back end promises beyond the contract: its ring, its buffers, what it gives
// back.
#include "steelyard/io/uring.h"

#include <array>
#include <cerrno>
#include <gtest/gtest.h>
#include <memory>
#include <netinet/in.h>
#include <set>
#include <string>
#include <sys/socket.h>
#include <utility>
#include <vector>

#include "steelyard/io/sockaddr.h"
#include "steelyard/io/socket.h"
#include "steelyard/io/uring_ring.h"

#include "test/io/uring_rig.h"

namespace steelyard::io {
namespace {

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
