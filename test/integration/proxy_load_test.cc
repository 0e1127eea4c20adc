// The data plane under load: nodes that die, Tables and Configs that change, stopping. Nothing is
// lost, no count either.

#include <array>
#include <chrono>
#include <fstream>
#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/resource.h>
#include <thread>

#include "steelyard/io/clock.h"

#include "test/integration/net.h"
#include "test/integration/proxy_rig.h"

namespace steelyard::integration {
namespace {

using namespace std::chrono_literals;

// Clients on threads of their own; each sends GETs one after the other, on one connection as long
// as that lasts.
class Load {
 public:
  Load(std::uint16_t port, unsigned clients, base::Duration gap) : port_(port), gap_(gap) {
    for (unsigned i = 0; i < clients; ++i) threads_.emplace_back([this] { run(); });
  }
  ~Load() { stop(); }
  Load(const Load&) = delete;
  Load& operator=(const Load&) = delete;
  void stop() {
    stop_ = true;
    for (auto& thread : threads_) {
      if (thread.joinable()) thread.join();
    }
  }
  bool wait_for(std::uint64_t requests) const {
    const auto limit = io::steady_now() + 20s;
    const auto from = good.load();
    while (good < from + requests) {
      if (io::steady_now() > limit) return false;
      std::this_thread::sleep_for(1ms);
    }
    return true;
  }

  std::atomic<std::uint64_t> good{0};
  std::atomic<std::uint64_t> failed{
      0};  // an answer other than 200, or none to a request on a new connection
  std::atomic<std::uint64_t> resent{
      0};  // a keep-alive connection was closed unanswered: sent once more
  std::atomic<std::uint64_t> refused{0};  // connects
  std::atomic<bool> may_be_refused{false};

 private:
  void run() {
    Socket socket;
    bool used = false;
    while (!stop_) {
      if (!socket.valid()) {
        socket = Socket::connect(port_);
        used = false;
        if (!socket.valid()) {
          if (may_be_refused) return;
          ++refused;
          continue;
        }
      }
      const bool sent = socket.send("GET /x HTTP/1.1\r\nHost: t\r\n\r\n");
      const auto answer = sent ? socket.read(false) : std::nullopt;
      if (!answer) {
        ++(used ? resent : failed);
        socket.close();
        continue;
      }
      used = true;
      ++(answer->status() == 200 ? good : failed);
      if (answer->field("connection") == "close") socket.close();
      if (gap_ > 0ns) std::this_thread::sleep_for(gap_);
    }
  }
  std::uint16_t port_;
  base::Duration gap_;
  std::atomic<bool> stop_{false};
  std::vector<std::thread> threads_;
};

TEST(ProxyUnderLoad, ANodeThatIsKilledCostsNoGet) {
  auto a = std::make_unique<Node>(serve_http);
  auto b = std::make_unique<Node>(serve_http);
  Node c(serve_http);
  ProxyRig::Setup setup;
  setup.workers = 2;
  setup.rules.retry_budget.reset();  // nobody ejects here: a third of the attempts meet the dead
  ProxyRig rig(setup, {{"a", a->port()}, {"b", b->port()}, {"c", c.port()}});
  Load load(rig.port(), 10, 10ms);
  ASSERT_TRUE(load.wait_for(200));
  a->kill();
  ASSERT_TRUE(load.wait_for(200));
  EXPECT_GE(rig.urgent(), 1U);
  const auto port = a->port();
  a = std::make_unique<Node>(serve_http, port);
  ASSERT_TRUE(load.wait_for(100));
  b->kill();
  ASSERT_TRUE(load.wait_for(200));
  load.stop();
  EXPECT_EQ(load.failed, 0U);
  EXPECT_EQ(load.resent, 0U);
  EXPECT_GT(a->requests, 0U);
  EXPECT_TRUE(rig.in_flight_zero());
}

TEST(ProxyUnderLoad, DrainingLosesNothing) {
  Node node(serve_http);
  ProxyRig::Setup setup;
  setup.workers = 2;
  setup.options.drain = {10s, 200ms};
  ProxyRig rig(setup, {{"a", node.port()}});
  Load load(rig.port(), 8, 1ms);
  // And those that connect anew for each request.
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> lost{0}, served{0};
  std::vector<std::thread> short_ones;
  for (int i = 0; i < 3; ++i) {
    short_ones.emplace_back([&] {
      while (!stop) {
        Socket socket = Socket::connect(rig.port());
        if (!socket.valid()) return;  // the port is closed: that is no loss
        if (!socket.send("GET /x HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n")) {
          ++lost;
          continue;
        }
        const auto answer = socket.read(false);
        ++(answer && answer->status() == 200 ? served : lost);
      }
    });
  }
  ASSERT_TRUE(load.wait_for(300));
  load.may_be_refused = true;
  std::thread closer([&] { rig.drain(); });
  closer.join();
  rig.close_sockets();
  stop = true;
  load.stop();
  for (auto& thread : short_ones) thread.join();
  EXPECT_EQ(load.failed, 0U);
  EXPECT_EQ(load.refused, 0U);
  EXPECT_EQ(lost, 0U);
  EXPECT_GT(served, 0U);
}

TEST(ProxyUnderLoad, TablesChangeAndSlotsAreReusedAndNoCountIsLost) {
  Node a(serve_http), b(serve_http), c(serve_http);
  ProxyRig::Setup setup;
  setup.workers = 2;
  ProxyRig rig(setup, {{"a", a.port()}});
  Load load(rig.port(), 6, 0ns);
  std::uint64_t last = 0;
  std::uint32_t highest_generation = 0;
  for (int round = 0; round < 400; ++round) {
    // b and c come and go under ever new names, so that their slots are freed and claimed again.
    std::vector<RigNode> nodes{{"a", a.port(), 1.0 + round % 7}};
    const auto name = std::to_string(round / 3);
    if (round % 3 != 2) nodes.push_back({"b" + name, b.port()});
    if (round % 3 != 0) nodes.push_back({"c" + name, c.port()});
    last = rig.publish(nodes);
    if (round % 10 == 0) rig.publish_config();
    highest_generation = std::max(highest_generation, rig.highest_generation());
    std::this_thread::sleep_for(1ms);
  }
  EXPECT_TRUE(rig.wait_taken(last));
  load.stop();
  ASSERT_TRUE(rig.in_flight_zero());
  EXPECT_EQ(load.failed, 0U);
  EXPECT_EQ(load.resent, 0U);
  EXPECT_GT(highest_generation, 10U);  // a slot's generation grows by two each time
  rig.collect();
  const auto retries = rig.sum([](const auto& m) { return m.retries.read(); });
  EXPECT_EQ(rig.attempts_ever(), load.good + retries);
  EXPECT_EQ(a.requests + b.requests + c.requests, load.good);
  EXPECT_EQ(rig.sum([](const auto& m) { return m.answers[2].read(); }), load.good);
  EXPECT_LE(rig.publisher().records(), 2U);
  EXPECT_LE(rig.publisher().configs(), 2U);
}

TEST(Cases, WGT_13_AfterAPublishReturnsEveryRequestFollowsIt) {
  Node a(serve_http), b(serve_http);
  ProxyRig::Setup setup;
  setup.workers = 2;
  setup.picker = "smooth_weighted_round_robin";
  ProxyRig rig(setup, {{"a", a.port()}, {"b", b.port()}});
  Load load(rig.port(), 2, 10ms);
  std::vector<Socket> clients;
  for (int i = 0; i < 4; ++i) clients.push_back(Socket::connect(rig.port()));
  for (int round = 0; round < 300; ++round) {
    const bool left = round % 2 == 0;
    const auto drained = model::Eligibility::kDraining;
    const auto usable = model::Eligibility::kUsable;
    ASSERT_TRUE(rig.wait_taken(rig.publish({{"a", a.port(), 999'999, left ? usable : drained},
                                            {"b", b.port(), 999'999, left ? drained : usable}})));
    const auto wrong_before = rig.attempts(left ? "b" : "a");
    for (int i = 0; i < 20; ++i) {
      Socket& client = clients[static_cast<std::size_t>(i) % clients.size()];
      ASSERT_TRUE(client.send("GET /x HTTP/1.1\r\nHost: t\r\n\r\n"));
      ASSERT_EQ(client.read(false)->status(), 200);
    }
    ASSERT_EQ(rig.attempts(left ? "b" : "a"), wrong_before);
  }
  load.stop();
  EXPECT_EQ(load.failed, 0U);
}

std::size_t resident_kib() {
  std::ifstream status("/proc/self/status");
  std::string word;
  while (status >> word) {
    if (word == "VmRSS:") break;
  }
  std::size_t kib = 0;
  status >> kib;
  return kib;
}

// 10,000 clients keep their connection open and idle while control publishes 10,000 Tables: memory
// stays flat. Control ticks as fast as the worker takes what it publishes, which is the same work
// as a tick every 5 ms.
TEST(ProxyUnderLoad, TenThousandIdleClientsOverTenThousandTicksCostNothing) {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
  rlimit more{21'000, std::max<rlim_t>(limit.rlim_max, 21'000)};
  if (::setrlimit(RLIMIT_NOFILE, &more) == 0) limit = more;  // who may, gets room for all of them
  // Both ends of each connection are in this process.
  const std::size_t count = std::min<std::size_t>(10'000, (limit.rlim_cur - 200) / 2);
  Node node(serve_http);
  ProxyRig::Setup setup;
  setup.options.clients.idle_timeout = 1h;  // however slow the machine is
  ProxyRig rig(setup, {{"a", node.port()}});
  std::vector<Socket> clients;
  for (std::size_t i = 0; i < count; ++i) {
    clients.push_back(Socket::connect(rig.port()));
    ASSERT_TRUE(clients.back().send("GET /x HTTP/1.1\r\nHost: t\r\n\r\n"));
    ASSERT_TRUE(clients.back().read(false).has_value()) << i;
  }
  const auto tick = [&](int times) {
    for (int i = 0; i < times; ++i) {
      ASSERT_TRUE(rig.wait_taken(rig.publish({{"a", node.port(), 1.0 + i % 5}})));
    }
  };
  tick(500);
  const auto before = resident_kib();
  const auto used_before = ::mallinfo2().uordblks;
  tick(10'000);
  const auto used_after = ::mallinfo2().uordblks;
#if defined(__SANITIZE_ADDRESS__)
  constexpr std::size_t kSlack = 300U << 10;  // freed memory stays in the sanitizer's quarantine
#else
  constexpr std::size_t kSlack = 1024;
#endif
  EXPECT_LE(resident_kib(), before + kSlack);
  EXPECT_LE(used_after, used_before + (256U << 10));
  EXPECT_EQ(rig.sum([](const auto& m) { return m.accepted.read() - m.closed.read(); }), count);
  for (std::size_t i = 0; i < count; i += 997) {
    ASSERT_TRUE(clients[i].send("GET /x HTTP/1.1\r\nHost: t\r\n\r\n"));
    ASSERT_EQ(clients[i].read(false)->status(), 200);
  }
}

}  // namespace
}  // namespace steelyard::integration
