// An io_uring reactor and what the tests of it hang on its streams. Skipped where the kernel has no
// io_uring.
#pragma once

#include <algorithm>
#include <array>
#include <cerrno>
#include <dirent.h>
#include <functional>
#include <gtest/gtest.h>
#include <memory>
#include <netinet/in.h>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <utility>
#include <vector>

#include "steelyard/base/rng.h"
#include "steelyard/io/sockaddr.h"
#include "steelyard/io/socket.h"
#include "steelyard/io/uring.h"

#include "test/io/streams.h"

namespace steelyard::io {

inline constexpr std::size_t kBuffer = UringOptions{}.buffer;

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

inline std::pair<Fd, Fd> socket_pair(int send_buffer = 0) {
  std::array<int, 2> ends{};
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends.data()), 0);
  for (const int fd : ends) {
    if (send_buffer > 0) {
      ::setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &send_buffer, sizeof send_buffer);
    }
  }
  return {Fd(ends[0]), Fd(ends[1])};
}

inline std::pair<Fd, Fd> tcp_pair() {
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

inline std::string pattern(std::size_t size) {
  base::Rng rng(5);
  std::string out(size, '\0');
  for (char& c : out) c = static_cast<char>('!' + rng.below(90));
  return out;
}

inline Buf slab_of(Reactor& reactor, std::string_view text) {
  Slab slab = reactor.slab(text.size());
  std::copy(text.begin(), text.end(), slab.text());
  return std::move(slab).take(text.size());
}

inline std::size_t open_descriptors() {
  std::size_t count = 0;
  DIR* const dir = ::opendir("/proc/self/fd");
  while (::readdir(dir) != nullptr) ++count;
  ::closedir(dir);
  return count;
}

}  // namespace steelyard::io
