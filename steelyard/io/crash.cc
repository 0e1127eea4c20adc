#include "steelyard/io/crash.h"

#include <array>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <execinfo.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

namespace steelyard::io {
namespace {

void say(const char* text) noexcept {
  [[maybe_unused]] const auto sent = ::write(2, text, std::strlen(text));
}

// SA_RESETHAND has put the default back: raising the signal again ends the process, also when it
// came from outside and returning would just go on.
void on_crash(int number) {
  ::alarm(1);  // ends us when nobody reads what we say
  std::array<char, 16> thread{};
  (void)::pthread_getname_np(::pthread_self(), thread.data(), thread.size());
  const char* const name = ::sigabbrev_np(number);
  say("steelyard: crash: SIG");
  say(name != nullptr ? name : "?");
  say(" in thread ");
  say(thread.data());
  say(", stack:\n");
  std::array<void*, 64> frames{};
  const int count = ::backtrace(frames.data(), static_cast<int>(frames.size()));
  ::backtrace_symbols_fd(frames.data(), count, 2);
  (void)::raise(number);
}

}  // namespace

void tell_crashes() noexcept {
  std::array<void*, 1> one{};
  (void)::backtrace(one.data(), 1);  // loads what it needs now; later it may not allocate
  struct sigaction action{};
  action.sa_handler = on_crash;
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_NODEFER);
  ::sigemptyset(&action.sa_mask);
  for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) {
    ::sigaction(fault, &action, nullptr);
  }
  std::signal(SIGALRM, SIG_DFL);
  sigset_t alarm;
  ::sigemptyset(&alarm);
  ::sigaddset(&alarm, SIGALRM);
  ::pthread_sigmask(SIG_UNBLOCK, &alarm, nullptr);
}

void leave_no_core() noexcept {
  // 1, not 0: below the smallest file, and the one value that also stops a core_pattern with a
  // pipe.
  const rlimit one{1, 1};
  (void)::setrlimit(RLIMIT_CORE, &one);
}

}  // namespace steelyard::io
