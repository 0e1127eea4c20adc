// No allocation per proxied request after warm-up, on either back end of the kernel: counted by
// replacing operator new in this binary. Client and node are sockets driven by the test's own
// thread, so that every allocation counted is the worker's.

#include <arpa/inet.h>
#include <array>
#include <cstdlib>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <new>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <unistd.h>

#include "steelyard/io/clock.h"
#include "steelyard/io/socket.h"
#include "steelyard/proxy/publisher.h"
#include "steelyard/proxy/worker.h"

#include "test/io/streams.h"

namespace {
thread_local std::size_t allocations = 0;  // other tests of this program have threads
}

[[gnu::noinline]] void* operator new(std::size_t size) {
  ++allocations;
  if (void* at = std::malloc(size)) return at;
  std::abort();
}
[[gnu::noinline]] void* operator new(std::size_t size,
                                     const std::nothrow_t&) noexcept {  // std::stable_sort
  ++allocations;
  return std::malloc(size == 0 ? 1 : size);
}
[[gnu::noinline]] void operator delete(void* at) noexcept { std::free(at); }
[[gnu::noinline]] void operator delete(void* at, std::size_t) noexcept { std::free(at); }

namespace steelyard::proxy {
namespace {

struct Quiet final : WorkerEvents {
  void on_urgent(model::NodeRef) noexcept override {}
  void on_taken(std::uint64_t) noexcept override {}
  void on_listener_stopped(const base::Address&) noexcept override {}
  void on_drained() noexcept override {}
};

int connect_to(const base::Address& address) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_port = htons(address.port());
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::connect(fd, reinterpret_cast<sockaddr*>(&at), sizeof at), 0);
  ::fcntl(fd, F_SETFL, O_NONBLOCK);
  return fd;
}

// Turns until `fd` gives `size` bytes.
std::size_t take(Worker& worker, int fd, std::span<char> to, std::size_t size) {
  std::size_t have = 0;
  for (int turn = 0; turn < 2000 && have < size; ++turn) {
    worker.turn(io::steady_now());
    const auto got = ::recv(fd, to.data() + have, to.size() - have, 0);
    if (got > 0) have += static_cast<std::size_t>(got);
  }
  return have;
}

TEST(ProxyAllocations, AreNonePerRequestAfterWarmUp) {
  struct Row {
    std::string_view name, request, answer;
  };
  constexpr std::array rows{
      Row{"GET", "GET /x HTTP/1.1\r\nHost: t\r\nAccept: */*\r\n\r\n",
          "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"},
      Row{"POST", "POST /x HTTP/1.1\r\nHost: t\r\nContent-Length: 5\r\n\r\nhello",
          "HTTP/1.1 201 Created\r\nContent-Length: 2\r\nKeep-Alive: timeout=5\r\n\r\nok"},
      Row{"PUT, kept to be repeated",
          "PUT /x HTTP/1.1\r\nHost: t\r\nContent-Length: 5\r\n\r\nhello",
          "HTTP/1.1 204 No Content\r\n\r\n"},
      Row{"chunked",
          "POST /x HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: "
          "chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
          "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"},
      Row{"HEAD", "HEAD /x HTTP/1.1\r\nHost: t\r\n\r\n",
          "HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n"},
  };
  for (std::size_t run = 0; run < 3 * io::usable_backends().size(); ++run) {
    const std::string_view picker =
        std::array<std::string_view, 3>{"least_connections", "round_robin", "p2c"}[run % 3];
    const io::Backend backend = io::usable_backends()[run / 3];
    SCOPED_TRACE(std::string(picker) + " " + std::string(to_text(backend)));
    auto reactor = io::of(backend);
    model::Slots slots(4, 1);
    const auto listening = *io::listen_tcp(base::Address::loopback(0));
    const auto node_socket = *io::listen_tcp(base::Address::loopback(0));
    auto model_table = std::make_shared<model::Table>();
    model_table->number = 1;
    model_table->upstreams.push_back(
        {"api", {{*slots.claim(), "a", *io::local_address(node_socket), 1, {}}}, false});
    ListenerOptions listener;
    listener.address = *io::local_address(listening);
    listener.routes.push_back({{}, "api", {}, {}});
    Publisher publisher(1, [](std::uint32_t) {});
    publisher.publish(Config::make(1, {}, {listener}),
                      pick::Table::make(model_table, {pick::find(picker)}));
    Quiet quiet;
    Worker worker(*reactor, {}, slots, publisher.cell(0), quiet);
    worker.add_listener(listening, listener.address);
    const int client = connect_to(listener.address);
    int node = -1;
    std::array<char, 4096> bytes{};
    for (const Row& row : rows) {
      std::size_t before = 0;
      for (int i = 0; i < 300; ++i) {
        if (i == 100) before = allocations;
        ASSERT_EQ(::send(client, row.request.data(), row.request.size(), 0),
                  static_cast<ssize_t>(row.request.size()));
        for (int turn = 0; turn < 2000 && node < 0; ++turn) {
          worker.turn(io::steady_now());
          node = ::accept4(node_socket.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
        }
        ASSERT_GE(node, 0);
        std::size_t got = take(worker, node, bytes, row.request.size());
        while (std::string_view(bytes.data(), got).find("\r\n\r\n") == std::string_view::npos ||
               (row.name == "chunked" &&
                !std::string_view(bytes.data(), got).ends_with("0\r\n\r\n"))) {
          const auto more = take(worker, node, std::span(bytes).subspan(got), 1);
          ASSERT_GT(more, 0U) << row.name;
          got += more;
        }
        ASSERT_EQ(::send(node, row.answer.data(), row.answer.size(), 0),
                  static_cast<ssize_t>(row.answer.size()));
        ASSERT_GT(take(worker, client, bytes, 20), 0U) << row.name << i;
        worker.turn(io::steady_now());
      }
      EXPECT_EQ(allocations - before, 0U) << row.name << " " << picker;
    }
    EXPECT_EQ(worker.metrics().node_connects.read(), 1U);
    ::close(client);
    ::close(node);
  }
}

}  // namespace
}  // namespace steelyard::proxy
