// Aside: work that may take long, on a thread of its own, one piece at a time. The control thread
// is watched, so it does nothing whose time the size of a configuration decides.
//
// A job runs on the thread and gives back what is to be done with its outcome, which runs on the
// reactor's thread, in a later turn. Destroyed while a job runs: waits for it, its outcome is
// dropped. Control thread.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "steelyard/base/result.h"
#include "steelyard/io/reactor.h"
#include "steelyard/io/thread.h"

namespace steelyard::cli {

class Aside {
 public:
  using Outcome = std::function<void()>;
  using Job = std::function<Outcome()>;

  explicit Aside(io::Reactor& reactor) : reactor_(reactor) {}

  // From `run` until its outcome is about to run.
  [[nodiscard]] bool busy() const noexcept { return thread_.has_value(); }
  // Only while not busy. Fails when there is no room for a thread: the job is not done.
  base::Result<void> run(Job job);

 private:
  io::Reactor& reactor_;
  std::shared_ptr<Aside*> self_ = std::make_shared<Aside*>(this);
  std::optional<io::Thread> thread_;  // last: joined first
};

}  // namespace steelyard::cli
