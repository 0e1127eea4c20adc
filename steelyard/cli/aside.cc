#include "steelyard/cli/aside.h"

#include <cassert>
#include <utility>

namespace steelyard::cli {

base::Result<void> Aside::run(Job job) {
  assert(!busy());
  const std::weak_ptr<Aside*> weak = self_;
  auto started = io::Thread::start("config", [weak, job = std::move(job), &reactor = reactor_] {
    reactor.post(io::make_task([weak, outcome = job()] {
      const auto self = weak.lock();
      if (self == nullptr) return;
      (*self)->thread_.reset();  // it has nothing left to do but end
      outcome();
    }));
  });
  if (!started) return started.error();
  thread_.emplace(std::move(*started));
  return {};
}

}  // namespace steelyard::cli
