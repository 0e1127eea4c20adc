// Clock, sockets, provider, signals, threads, errors.
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "steelyard/io/clock.h"
#include "steelyard/io/doorbell.h"
#include "steelyard/io/epoll.h"
#include "steelyard/io/errors.h"
#include "steelyard/io/provider.h"
#include "steelyard/io/signal.h"
#include "steelyard/io/sockaddr.h"
#include "steelyard/io/socket.h"
#include "steelyard/io/thread.h"

namespace steelyard::io {
namespace {

using namespace std::chrono_literals;

Fd dial(const base::Address& to) {
  const SocketAddress at = to_kernel(to);
  Fd fd(::socket(at.at.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (::connect(fd.get(), &at.at.any, at.size) != 0 && errno != EINPROGRESS) return {};
  return fd;
}

TEST(Clock, WritesRfc3339InUtcWithMilliseconds) {
  EXPECT_EQ(rfc3339(WallTime(0ns)), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(rfc3339(WallTime(1709210096s + 7ms + 999us)), "2024-02-29T12:34:56.007Z");
  EXPECT_EQ(rfc3339(WallTime(-1ms)), "1969-12-31T23:59:59.999Z");
  EXPECT_EQ(wall_of(base::TimePoint(5s), base::TimePoint(2s), WallTime(100s)), WallTime(103s));
  const TimePoint before = steady_now();
  EXPECT_LE(before, steady_now());
}

TEST(Errors, HaveACodeToActOnAndTheMeaningOfErrno) {
  const auto denied = system_error(EACCES, "write /etc/x");
  EXPECT_EQ(denied.code, base::Code::kDenied);
  EXPECT_EQ(denied.text, "write /etc/x: Permission denied");
  EXPECT_EQ(system_error(ECONNREFUSED, "").text, "");
  EXPECT_EQ(code_of(EPIPE), base::Code::kReset);
  EXPECT_EQ(code_of(EMFILE), base::Code::kLimit);
}

TEST(Sockets, SeveralMayListenOnOneAddress) {
  const auto first = listen_tcp(base::Address::loopback(0));
  ASSERT_TRUE(first);
  const auto at = local_address(*first);
  ASSERT_TRUE(at);
  EXPECT_NE(at->port(), 0);
  EXPECT_TRUE(listen_tcp(*at));
  const auto taken = listen_tcp(*at, {.reuse_port = false});
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().code, base::Code::kConflict);
  EXPECT_NE(taken.error().text.find(at->to_text()), std::string::npos);
  EXPECT_FALSE(listen_tcp({}));
}

TEST(Sockets, Ipv6AddressesGoThereAndBack) {
  const auto address = *base::Address::parse("[::1]:443");
  EXPECT_EQ(from_kernel(to_kernel(address)), address);
  const auto v4 = *base::Address::parse("192.0.2.1:80");
  EXPECT_EQ(from_kernel(to_kernel(v4)), v4);
}

TEST(Sockets, AStoppedListenerLosesNothingQueuedAndTakesNoNewSyn) {
  const Fd listening = std::move(*listen_tcp(base::Address::loopback(0)));
  const auto at = *local_address(listening);
  const Fd queued = dial(at);
  EXPECT_EQ(accept_queue(listening).value(), 1U);
  ASSERT_TRUE(stop_new_connections(listening));
  const Fd late = dial(at);  // its SYN is dropped: it neither connects nor is refused
  EXPECT_EQ(accept_queue(listening).value(), 1U);
  EXPECT_FALSE(peer_address(late));
  const Fd accepted(::accept4(listening.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  EXPECT_TRUE(accepted.valid());
  EXPECT_EQ(*peer_address(queued), at);
  EXPECT_EQ(accept_queue(listening).value(), 0U);
  ASSERT_TRUE(resume_new_connections(listening));
  ASSERT_TRUE(resume_new_connections(listening));
  const Fd again = dial(at);
  EXPECT_EQ(accept_queue(listening).value(), 1U);
}

TEST(Provider, KeepsASocketByAddressAndWorkerAcrossReloads) {
  const auto provider = make_local_provider();
  const auto any = base::Address::loopback(0);
  std::array<base::Address, 2> seen;
  for (unsigned worker = 0; worker < 2; ++worker) {
    seen[worker] = *local_address(*provider->listener(any, worker));  // the copy is closed at once
  }
  EXPECT_EQ(seen[0], seen[1]);  // one port for both workers
  const Fd client = dial(seen[0]);
  unsigned queued = 0;
  for (unsigned worker = 0; worker < 2; ++worker)
    queued += accept_queue(*provider->listener(any, worker)).value();
  EXPECT_EQ(queued, 1U);
  provider->keep_only(std::array{any});  // a reload that still has it
  queued = 0;
  for (unsigned worker = 0; worker < 2; ++worker)
    queued += accept_queue(*provider->listener(any, worker)).value();
  EXPECT_EQ(queued, 1U);
  EXPECT_EQ(*local_address(*provider->listener(any, 0)), seen[0]);
  provider->keep_only({});
  const Fd refused = dial(seen[0]);
  int error = 0;
  socklen_t size = sizeof error;
  if (refused.valid()) ::getsockopt(refused.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  EXPECT_TRUE(!refused.valid() || error == ECONNREFUSED);
}

TEST(Provider, TellsWhyAnAddressCannotBeHadAndForgetsIt) {
  const auto provider = make_local_provider();
  const Fd other = std::move(*listen_tcp(base::Address::loopback(0), {.reuse_port = false}));
  const auto taken = *local_address(other);
  const auto refused = provider->listener(taken, 0);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().text.find("Address already in use"), std::string::npos);
}

TEST(Provider, HoldsTheStateBlob) {
  const auto provider = make_local_provider();
  EXPECT_EQ(provider->state(), "");
  provider->put_state("weights");
  EXPECT_EQ(provider->state(), "weights");
}

TEST(Signals, ArriveAsCallbacksInsteadOfKilling) {
  sigset_t before;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &before);
  block_signals();
  {
    const auto reactor = make_epoll_reactor();
    std::vector<int> seen;
    const auto signals = watch_signals(*reactor, [&](int number) { seen.push_back(number); });
    ASSERT_TRUE(signals);
    for (const int number : {SIGHUP, SIGTERM, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2}) {
      ::kill(::getpid(), number);
      const TimePoint give_up = steady_now() + 10s;
      while ((seen.empty() || seen.back() != number) && steady_now() < give_up)
        reactor->run_turn(give_up);
    }
    EXPECT_EQ(seen, (std::vector<int>{SIGHUP, SIGTERM, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2}));
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

TEST(Threads, HaveANameNoSignalsAndAreJoined) {
  std::string name(16, '\0');
  bool blocked = false;
  {
    Thread thread("a-long-thread-name", [&] {
      ::pthread_getname_np(::pthread_self(), name.data(), name.size());
      sigset_t set;
      ::pthread_sigmask(SIG_SETMASK, nullptr, &set);
      blocked = ::sigismember(&set, SIGTERM) == 1 && ::sigismember(&set, SIGHUP) == 1;
    });
    EXPECT_TRUE(thread.running());
  }
  EXPECT_STREQ(name.c_str(), "a-long-thread-n");
  EXPECT_TRUE(blocked);
  EXPECT_GE(usable_processors(), 1U);
}

// In a child, which loses its right to descriptors or threads.
template <typename F>
int in_child(int resource, rlim_t limit, F work) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    const rlimit none{limit, limit};
    if (::setrlimit(static_cast<__rlimit_resource>(resource), &none) != 0) std::_Exit(99);
    std::_Exit(work());
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

TEST(Start, WithoutDescriptorsThereIsAReasonAndNoReactor) {
  // UBSan looks at a type with a pipe when it first meets it, which the children could not have.
  ASSERT_TRUE(open_epoll_reactor());
  EXPECT_EQ(in_child(RLIMIT_NOFILE, 3,
                     [] {
                       const auto made = open_epoll_reactor();
                       return !made && made.error().code == base::Code::kLimit ? 7 : 8;
                     }),
            7);
  EXPECT_EQ(in_child(RLIMIT_NOFILE, 4,
                     [] {  // one for epoll, none for the eventfd
                       ::close(3);
                       const auto made = open_epoll_reactor();
                       return !made && made.error().text.find("eventfd") != std::string::npos ? 7
                                                                                              : 8;
                     }),
            7);
  EXPECT_EQ(in_child(RLIMIT_NOFILE, 3, [] { return make_epoll_reactor() == nullptr ? 7 : 8; }), 1);
}

TEST(Start, ADoorbellWithoutADescriptorWaitsAShortTimeInstead) {
  EXPECT_EQ(in_child(RLIMIT_NOFILE, 3,
                     [] {
                       const Doorbell bell;
                       bell.ring();
                       const auto from = steady_now();
                       bell.wait(100s);
                       return steady_now() - from < 10s ? 7 : 8;
                     }),
            7);
}

TEST(Start, AThreadThatCannotStartIsAnErrorAndLeavesTheSignalsAsTheyWere) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizers' own memory does not fit under the limit";
#endif
  // No room for its stack.
  EXPECT_EQ(in_child(RLIMIT_AS, rlim_t{1} << 20,
                     [] {
                       pthread_attr_t attributes;  // a size that no earlier thread left behind
                       ::pthread_attr_init(&attributes);
                       ::pthread_attr_setstacksize(&attributes, std::size_t{64} << 20);
                       ::pthread_setattr_default_np(&attributes);
                       const auto made = Thread::start("none", [] {});
                       sigset_t set;
                       ::pthread_sigmask(SIG_SETMASK, nullptr, &set);
                       return !made && ::sigismember(&set, SIGTERM) == 0 ? 7 : 8;
                     }),
            7);
}

TEST(Provider, AnAddressThatAnotherBalancerServesIsTaken) {
  const auto first = make_local_provider();
  const auto any = base::Address::loopback(0);
  const auto socket = first->listener(any, 0);
  ASSERT_TRUE(socket);
  const auto address = local_address(*socket).value();
  const auto second = make_local_provider();
  EXPECT_FALSE(second->listener(address, 0)) << "two that do not know of each other";
  first->keep_only({});
  ASSERT_TRUE(socket);
}

}  // namespace
}  // namespace steelyard::io
