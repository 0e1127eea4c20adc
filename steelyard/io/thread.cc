#include "steelyard/io/thread.h"

#include <csignal>
#include <pthread.h>
#include <sched.h>
#include <system_error>
#include <utility>

#include "steelyard/io/errors.h"

namespace steelyard::io {

Thread::Thread(const std::string& name, std::function<void()> work) {
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  // A fault ends the process in any case; open, it can still be told where (crash.h).
  for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) ::sigdelset(&all, fault);
  // Blocked around the start, so that the new thread is born with all signals blocked and never has
  // a gap.
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  const struct Restore {
    const sigset_t& mask;
    ~Restore() { ::pthread_sigmask(SIG_SETMASK, &mask, nullptr); }
  } restore{before};
  thread_ = std::thread([name, work = std::move(work)] {
    name_this_thread(name);
    work();
  });
}

base::Result<Thread> Thread::start(const std::string& name, std::function<void()> work) {
  try {
    return Thread(name, std::move(work));
  } catch (const std::system_error& error) {
    return system_error(error.code().value(), "start thread " + name);
  }
}

void Thread::join() {
  if (thread_.joinable()) thread_.join();
}

void name_this_thread(const std::string& name) {
  ::pthread_setname_np(::pthread_self(), name.substr(0, 15).c_str());
}

unsigned usable_processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  const int count = CPU_COUNT(&set);
  return count < 1 ? 1U : static_cast<unsigned>(count);
}

}  // namespace steelyard::io
