// WorkerPool: the worker threads of an engine. Starts them, hands them listeners, wakes them,
// drains them, and brings what they say back to the control thread.
//
// Each worker thread makes its own epoll reactor and proxy::Worker and destroys them there. A
// worker that has drained says so and goes on turning until control, which may still have posted to
// it, lets it go; so a post never meets a dead reactor. Threads: control, but for the marked ones.
// Outlived by the Slots, the Publisher and the control reactor.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "steelyard/base/result.h"
#include "steelyard/io/fd.h"
#include "steelyard/io/reactor.h"
#include "steelyard/model/slots.h"
#include "steelyard/proxy/publisher.h"
#include "steelyard/proxy/worker.h"

namespace steelyard::cli {

class PoolEvents {  // on the control thread
 public:
  virtual void on_urgent() = 0;  // a node failed: tick soon
  virtual void on_taken() = 0;   // a worker took a record: collect
  virtual void on_listener_stopped(const base::Address& address, std::uint32_t worker) = 0;
  virtual void on_workers_gone() = 0;  // all have drained and ended

 protected:
  ~PoolEvents() = default;
};

class WorkerPool {
 public:
  struct Options {
    std::uint32_t workers = 1;
    std::uint64_t seed = 1;
    http::Http1Limits limits;
  };

  WorkerPool(io::Reactor& control, const model::Slots& slots, proxy::Publisher& publisher,
             const Options& options, PoolEvents& events);
  ~WorkerPool();  // the workers must be gone, or never started
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  // Returns when every worker turns. Something must have been published.
  base::Result<void> start();
  void wake(std::uint32_t worker);  // also before start: then nothing to do
  void add_listener(std::uint32_t worker, io::Fd socket, const base::Address& address);
  void remove_listener(const base::Address& address);  // on all workers
  void drain(base::TimePoint idle_until, base::TimePoint limit);

  void end();  // at once, and waits for it; not from inside a callback of `control`

  [[nodiscard]] std::uint32_t workers() const noexcept;
  [[nodiscard]] bool gone() const noexcept { return alive_ == 0; }
  // Of all workers, readable while they run; empty for one that never started.
  [[nodiscard]] std::vector<const proxy::WorkerMetrics*> metrics() const;

 private:
  struct Seat;
  void on_ready(Seat& seat);
  void on_finished(Seat& seat);

  io::Reactor& control_;
  const model::Slots& slots_;
  proxy::Publisher& publisher_;
  Options options_;
  PoolEvents& events_;
  std::vector<std::unique_ptr<Seat>> seats_;
  std::uint32_t ready_ = 0;
  std::uint32_t alive_ = 0;
};

}  // namespace steelyard::cli
