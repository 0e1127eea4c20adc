#include "steelyard/io/thread.h"

#include <csignal>
#include <pthread.h>
#include <sched.h>
#include <utility>

namespace steelyard::io {

Thread::Thread(const std::string& name, std::function<void()> work) {
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  // Blocked around the start, so that the new thread is born with all signals blocked and never has
  // a gap.
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([name, work = std::move(work)] {
    name_this_thread(name);
    work();
  });
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
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
