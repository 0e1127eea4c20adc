// What the data plane costs and withstands: memory of idle clients and of large bodies, clients
// that take everything slowly or give everything fast beside good ones.

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <fstream>
#include <gtest/gtest.h>
#include <malloc.h>
#include <netinet/in.h>
#include <string>
#include <sys/resource.h>
#include <sys/socket.h>
#include <thread>

#include "steelyard/io/clock.h"

#include "test/integration/net.h"
#include "test/integration/proxy_rig.h"

namespace steelyard::integration {
namespace {

using namespace std::chrono_literals;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;  // freed memory stays in quarantine: sizes say nothing
#else
constexpr bool kSanitized = false;
#endif

std::size_t descriptors() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
  return limit.rlim_cur;
}

std::size_t resident_bytes() {
  std::ifstream status("/proc/self/statm");
  std::size_t whole = 0, resident = 0;
  status >> whole >> resident;
  return resident * 4096;
}

// Byte i of every large body.
constexpr std::size_t kBlock = 65'521;  // a prime: no two reads of a power of two look alike
const std::string& block() {
  static const std::string text = pattern(kBlock, 7);
  return text;
}

bool send_body(int fd, std::size_t size) {
  for (std::size_t at = 0; at < size;) {
    const std::size_t from = at % kBlock;
    const std::size_t part = std::min(size - at, kBlock - from);
    const auto sent = ::send(fd, block().data() + from, part, MSG_NOSIGNAL);
    if (sent <= 0) return false;
    at += static_cast<std::size_t>(sent);
  }
  return true;
}

// `had` bytes of it came with the head. False: a byte is not what it should be, or it ended early.
bool check_body(int fd, std::string_view had, std::size_t size) {
  const auto same = [](std::size_t at, std::string_view part) {
    while (!part.empty()) {
      const std::size_t from = at % kBlock;
      const std::size_t count = std::min(part.size(), kBlock - from);
      if (std::memcmp(block().data() + from, part.data(), count) != 0) return false;
      at += count;
      part.remove_prefix(count);
    }
    return true;
  };
  if (!same(0, had)) return false;
  std::array<char, 16384> bytes;
  for (std::size_t at = had.size(); at < size;) {
    const auto got = ::recv(fd, bytes.data(), std::min(bytes.size(), size - at), 0);
    if (got <= 0 || !same(at, {bytes.data(), static_cast<std::size_t>(got)})) return false;
    at += static_cast<std::size_t>(got);
  }
  return true;
}

// GET: sends a body of that size; POST: checks the one that comes.
void serve_large(Node& node, Socket& socket) {
  while (auto request = socket.read_head(true)) {
    ++node.requests;
    const auto size = static_cast<std::size_t>(std::stoul(request->target().substr(1)));
    if (request->method() == "GET") {
      if (!socket.send("HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(size) + "\r\n\r\n") ||
          !send_body(socket.fd(), size)) {
        return;
      }
    } else {
      const bool good = check_body(socket.fd(), socket.buffer, size);
      socket.buffer.clear();
      if (!socket.send(good ? "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
                            : "HTTP/1.1 500 Wrong\r\nContent-Length: 0\r\n\r\n")) {
        return;
      }
    }
  }
}

// How much the process grows while so many bodies go through `port` at once, and how many came
// whole.
struct Growth {
  std::size_t bytes = 0;
  std::size_t good = 0;
};
Growth move_large_bodies(std::uint16_t port, const std::string& method, std::size_t count,
                         std::size_t size) {
  const std::string head =
      method + " /" + std::to_string(size) + " HTTP/1.1\r\nHost: t\r\n" +
      (method == "GET" ? std::string() : "Content-Length: " + std::to_string(size) + "\r\n") +
      "\r\n";
  const auto before = resident_bytes();
  std::atomic<std::size_t> good{0}, over{0};
  std::vector<std::thread> clients;
  for (std::size_t i = 0; i < count; ++i) {
    clients.emplace_back([&] {
      Socket socket = Socket::connect(port);
      bool fine = socket.valid() && socket.send(head);
      if (fine && method == "POST") fine = send_body(socket.fd(), size);
      const auto answer = fine ? socket.read_head(false) : std::nullopt;
      fine = answer && answer->status() == 200 &&
             (method == "POST" || check_body(socket.fd(), socket.buffer, size));
      if (fine) ++good;
      ++over;
    });
  }
  std::size_t most = before;
  while (over < count) {
    most = std::max(most, resident_bytes());
    std::this_thread::yield();
  }
  for (auto& client : clients) client.join();
  return {most - before, good};
}

TEST(ProxyMemory, SixtyFourLargeBodiesAtOnceCostSixteenMebibytesInAll) {
  constexpr std::size_t kCount = 64;
  constexpr std::size_t kSize = std::size_t{16} << 20;
  (void)descriptors();
  for (const std::string method : {"GET", "POST"}) {
    SCOPED_TRACE(method);
    Node node(serve_large);
    ProxyRig rig({}, {{"a", node.port()}});
    (void)block();
    // What the test's own 128 threads take: the same without the proxy.
    const Growth direct = move_large_bodies(node.port(), method, kCount, kSize);
    const Growth through = move_large_bodies(rig.port(), method, kCount, kSize);
    EXPECT_EQ(direct.good, kCount);
    EXPECT_EQ(through.good, kCount);
    RecordProperty(method + "_direct", static_cast<int>(direct.bytes >> 10));
    RecordProperty(method + "_through", static_cast<int>(through.bytes >> 10));
    if (!kSanitized) {
      EXPECT_LE(through.bytes, direct.bytes + (std::size_t{16} << 20));
    }
    EXPECT_TRUE(rig.in_flight_zero());
  }
}

// A client that asks once and stays. Nothing of it is on the heap of this process.
io::Fd ask_once(std::uint16_t port) {
  io::Fd client(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  constexpr std::string_view kAsk = "GET /x HTTP/1.1\r\nHost: t\r\n\r\n";
  std::array<char, 1024> answer;
  const bool fine = ::connect(client.get(), reinterpret_cast<sockaddr*>(&to), sizeof to) == 0 &&
                    ::send(client.get(), kAsk.data(), kAsk.size(), MSG_NOSIGNAL) > 0 &&
                    ::recv(client.get(), answer.data(), answer.size(), 0) > 12 &&
                    std::string_view(answer.data(), 12) == "HTTP/1.1 200";
  return fine ? std::move(client) : io::Fd();
}

TEST(ProxyMemory, AnIdleClientCostsLessThanOneKibibyte) {
  const std::size_t count = std::min<std::size_t>(2'000, (descriptors() - 400) / 2);
  Node node(serve_http);
  ProxyRig rig({}, {{"a", node.port()}});
  std::vector<io::Fd> clients;
  clients.reserve(count + 200);
  const auto more = [&](std::size_t by) {
    for (std::size_t i = 0; i < by; ++i) {
      clients.push_back(ask_once(rig.port()));
      if (!clients.back().valid()) return false;
    }
    return true;
  };
  ASSERT_TRUE(more(200));  // what is there once
  const std::size_t before = ::mallinfo2().uordblks;
  ASSERT_TRUE(more(count));
  const std::size_t each = (::mallinfo2().uordblks - before) / count;
  RecordProperty("bytes_each", static_cast<int>(each));
  if (!kSanitized) {
    EXPECT_GT(each, 200U);  // it was measured at all
    EXPECT_LE(each, 1'024U);
  }
}

TEST(ProxyFairness, SlowReadersAndFastUploadersHoldNobodyUp) {
  // A sanitizer makes everything ten times slower: fewer of each, or the time-outs speak.
  const std::size_t slow_ones =
      std::min<std::size_t>(kSanitized ? 100 : 1'000, (descriptors() - 400) / 4);
  const int fast_ones = kSanitized ? 4 : 16;
  Node node(serve_http);
  ProxyRig rig({}, {{"a", node.port()}});
  std::vector<Socket> readers;
  for (std::size_t i = 0; i < slow_ones; ++i) {
    readers.push_back(Socket::connect(rig.port()));
    const int small = 4096;
    ::setsockopt(readers.back().fd(), SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
    ASSERT_TRUE(readers.back().send("GET /size/600000 HTTP/1.1\r\nHost: t\r\n\r\n"));
  }
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> uploads{0}, failed{0};
  std::vector<std::thread> uploaders;
  for (int i = 0; i < fast_ones; ++i) {
    uploaders.emplace_back([&] {
      const std::string request =
          "POST /echo HTTP/1.1\r\nHost: t\r\nContent-Length: 262144\r\n\r\n" + pattern(262'144);
      Socket socket = Socket::connect(rig.port());
      while (!stop) {
        const bool sent = socket.send(request);
        const auto answer = sent ? socket.read(false) : std::nullopt;
        ++(answer && answer->status() == 200 && answer->body.size() == 262'144 ? uploads : failed);
        if (!answer) return;
      }
    });
  }
  const auto limit = io::steady_now() + 20s;
  while (uploads < 32 && failed == 0 && io::steady_now() < limit) std::this_thread::yield();
  Socket good = Socket::connect(rig.port());
  base::Duration worst{};
  for (int i = 0; i < 300; ++i) {
    const auto from = io::steady_now();
    ASSERT_TRUE(good.send("GET /x HTTP/1.1\r\nHost: t\r\n\r\n"));
    const auto answer = good.read(false);
    ASSERT_TRUE(answer.has_value());
    ASSERT_EQ(answer->status(), 200);
    worst = std::max(worst, io::steady_now() - from);
  }
  stop = true;
  for (auto& uploader : uploaders) uploader.join();
  EXPECT_EQ(failed, 0U);
  EXPECT_GE(uploads, 32U);
  EXPECT_LT(base::seconds(worst), 2.0);
  RecordProperty("worst_us", static_cast<int>(worst / 1us));
}

}  // namespace
}  // namespace steelyard::integration
