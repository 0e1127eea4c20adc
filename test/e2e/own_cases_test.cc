// Cases from the field that only the whole program shows: few descriptors, labels that nobody
// outside can make.

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <thread>

#include "test/e2e/own_support.h"
#include "test/integration/net.h"

namespace steelyard::e2e {
namespace {

using integration::Socket;
using std::chrono::seconds;

std::size_t series(const Balancer& balancer) {
  const std::string text = balancer.get("/metrics").body;
  std::size_t count = 0;
  for (std::size_t at = 0; at < text.size(); at = text.find('\n', at) + 1) {
    if (text[at] != '#') ++count;
    if (text.find('\n', at) == std::string::npos) break;
  }
  return count;
}

TEST(OwnCases, OBS_01_NothingThatAClientSendsBecomesALabel) {
  Backend a("a");
  Balancer balancer(config({{"a", a.port()}}));
  ASSERT_TRUE(balancer.up()) << balancer.log();
  Client client(balancer.port());
  const auto ask = [&](int i) {
    const std::string n = std::to_string(i);
    return client.send("M" + n + " /p" + n + "?q=" + n + " HTTP/1.1\r\nHost: h" + n +
                       ".test\r\nUser-Agent: u" + n + "\r\nX-Request-Id: r" + n + "\r\n\r\n");
  };
  EXPECT_EQ(ask(0).status, 200);
  const auto before = series(balancer);
  EXPECT_GT(before, 50U);
  for (int i = 1; i <= 2000; ++i) ASSERT_EQ(ask(i).status, 200) << i;
  EXPECT_LE(series(balancer), before + 5);
  EXPECT_EQ(balancer.metric("steelyard_http_requests_total{code_class=\"2xx\"}"), 2001);
}

TEST(OwnCases, DRN_08_FewDescriptorsLimitClientsAndNothingElse) {
  const TempDir dir;
  const std::string script = dir / "limited";
  std::ofstream(script) << "#!/bin/sh\nulimit -n 256\nexec '" << test::binary() << "' \"$@\"\n";
  std::filesystem::permissions(script, std::filesystem::perms::owner_all);
  Backend a("a");
  const std::string text = config({{"a", a.port()}}, "", "workers: 1\n");
  Balancer balancer(text, {}, script);
  ASSERT_TRUE(balancer.up()) << balancer.log();
  EXPECT_TRUE(balancer.says(" few_descriptors limit=256 wanted=40000 clients=88 "))
      << balancer.log();
  std::vector<Socket> held;
  for (int i = 0; i < 200; ++i) {
    held.push_back(Socket::connect(balancer.port()));
    ASSERT_TRUE(held.back().valid());
  }
  const auto limited = [&] {
    return balancer.metric("steelyard_proxy_client_limit_reached_total").value_or(0) >= 1;
  };
  EXPECT_TRUE(wait_until(limited, seconds(10)));
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(balancer.reload(text)) << balancer.log();
    ASSERT_TRUE(held[0].send("GET / HTTP/1.1\r\nHost: t\r\n\r\n"));
    const auto answer = held[0].read(false);
    ASSERT_TRUE(answer.has_value());
    EXPECT_EQ(answer->status(), 200);
  }
  EXPECT_LT(balancer.metric("steelyard_proxy_client_connections").value_or(256), 256 / 2);
  held.clear();  // those that waited come in now, and new ones after them
  EXPECT_TRUE(
      wait_until([&] { return Client(balancer.port()).get("/").status == 200; }, seconds(10)));
  EXPECT_EQ(balancer.metric("steelyard_engine_crashes_total"), 0);
}

TEST(OwnCases, DRN_08_TooFewDescriptorsToServeAreRefusedAtTheStart) {
  const TempDir dir;
  const std::string script = dir / "limited";
  std::ofstream(script) << "#!/bin/sh\nulimit -n $LIMIT\nexec '" << test::binary() << "' \"$@\"\n";
  std::filesystem::permissions(script, std::filesystem::perms::owner_all);
  Backend a("a");
  struct Row {
    std::string name, top;
    int least;
  };
  const std::vector<Row> rows{
      {"one worker", "workers: 1\n", 24},
      {"two workers", "workers: 2\n", 31},
      {"io_uring or not", "workers: 1\nio: epoll\n", 24},
      {"a log", "workers: 1\nlog: { file: " + (dir / "access.log") + " }\n", 25},
  };
#if defined(__SANITIZE_ADDRESS__)
  constexpr int kSpare = 4;  // its checks of types open a pipe, and take a failure for a bad object
#else
  constexpr int kSpare = 0;
#endif
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    const std::string text = config({{"a", a.port()}}, "", row.top);
    ::setenv("LIMIT", std::to_string(row.least + kSpare).c_str(), 1);
    Balancer balancer(text, {}, script);
    ASSERT_TRUE(balancer.up()) << balancer.log();
    for (int i = 0; i < 20; ++i) EXPECT_EQ(Client(balancer.port()).get("/").status, 200) << i;
    EXPECT_EQ(balancer.metric("steelyard_engine_crashes_total"), 0);
    write_text(dir / "s.yaml", text);
    ::setenv("LIMIT", std::to_string(row.least - 1).c_str(), 1);
    EXPECT_EQ(run({script, "run", dir / "s.yaml"}, dir / "out"), 1);
    const auto said = read_text(dir / "out");
    EXPECT_NE(said.find("at least " + std::to_string(row.least) + " are needed"), said.npos)
        << said;
    EXPECT_NE(said.find("raise the limit (ulimit -n"), said.npos);
    std::filesystem::remove(std::string(dir / "out"));
  }
  ::unsetenv("LIMIT");
}

// Of the calling thread and of the processes that it starts, as containers do it.
void forbid_io_uring() {
  std::array filter{
      sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      sock_filter BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_io_uring_setup, 0, 1),
      sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{.len = filter.size(), .filter = filter.data()};
  ASSERT_EQ(::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
  ASSERT_EQ(::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
}

TEST(OwnCases, WhereIoUringIsForbiddenTheEngineSaysThatItGoesWithout) {
  std::thread([] {
    forbid_io_uring();
    Backend a("a");
    Balancer balancer(config({{"a", a.port()}}, "", "workers: 2\n"));
    ASSERT_TRUE(balancer.up()) << balancer.log();
    EXPECT_EQ(balancer.said(" io_fallback backend=epoll reason="), 1U) << balancer.log();
    EXPECT_EQ(balancer.metric("steelyard_proxy_io_info{backend=\"epoll\"}"), 1);
    EXPECT_EQ(Client(balancer.port()).get("/").status, 200);
  }).join();
  Backend a("a");
  Balancer chosen(config({{"a", a.port()}}, "", "workers: 1\nio: epoll\n"));
  ASSERT_TRUE(chosen.up()) << chosen.log();
  EXPECT_EQ(chosen.said(" io_fallback "), 0U) << "as configured";
}

}  // namespace
}  // namespace steelyard::e2e
