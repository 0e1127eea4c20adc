// WorkerPool: the worker threads of an engine. Starts them, hands them listeners, wakes them,
// drains them, and brings what they say back to the control thread.
//
// Each worker thread makes its own reactor and proxy::Worker and destroys them there. A
// worker that has drained says so and goes on turning until control, which may still have posted to
// it, lets it go; so a post never meets a dead reactor. Threads: control, but for the marked ones.
// Outlived by the Slots, the Publisher and the control reactor.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "steelyard/base/result.h"
#include "steelyard/io/backend.h"
#include "steelyard/io/fd.h"
#include "steelyard/io/process_status.h"
#include "steelyard/io/reactor.h"
#include "steelyard/io/shared_memory.h"
#include "steelyard/model/slots.h"
#include "steelyard/proxy/access_log.h"
#include "steelyard/proxy/address_counts.h"
#include "steelyard/proxy/publisher.h"
#include "steelyard/proxy/worker.h"

namespace steelyard::cli {

class PoolEvents {  // on the control thread
 public:
  virtual void on_urgent() = 0;  // a node failed: tick soon
  virtual void on_taken() = 0;   // a worker took a record: collect
  virtual void on_listener_stopped(const base::Address& address, std::uint32_t worker) = 0;
  // Bytes in buffers, and the worker's part of the budget.
  virtual void on_overload(std::uint32_t worker, proxy::Stage stage, std::size_t used,
                           std::size_t budget) = 0;
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
    io::BackendChoice io;
    proxy::AccessLog* access = nullptr;  // outlives the pool
    std::uint32_t most_clients = 0;      // that there are descriptors for; 0: any number
    std::function<io::Heartbeat::Pulse*(std::uint32_t worker)> pulse;  // where its loop beats
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
  void drain(base::TimePoint idle_until, base::TimePoint limit, base::TimePoint accept_until = {});
  // As `drain`, but the queues of these addresses are left to another process.
  void hand_over(const std::vector<base::Address>& addresses, base::TimePoint idle_until,
                 base::TimePoint limit);

  void end();  // at once, and waits for it; not from inside a callback of `control`

  [[nodiscard]] std::uint32_t workers() const noexcept;
  [[nodiscard]] const io::BackendChoice& io() const noexcept { return options_.io; }
  [[nodiscard]] bool gone() const noexcept { return alive_ == 0; }
  // Of the workers that run.
  [[nodiscard]] std::vector<const proxy::WorkerMetrics*> metrics() const;
  // Requests of all workers, of those that have ended too.
  [[nodiscard]] std::uint64_t requests() const;
  // What workers that have ended still had when the time for draining was over.
  [[nodiscard]] const io::Holding& cut() const noexcept { return cut_; }

 private:
  struct Seat;
  void on_ready(Seat& seat);
  void on_stillborn(Seat& seat, base::Error error);
  void on_finished(Seat& seat);

  io::Reactor& control_;
  const model::Slots& slots_;
  proxy::Publisher& publisher_;
  Options options_;
  PoolEvents& events_;
  std::shared_ptr<proxy::AddressCounts> addresses_;
  std::vector<std::unique_ptr<Seat>> seats_;
  std::uint32_t ready_ = 0;
  std::optional<base::Error> stillborn_;  // why a worker has no reactor
  std::uint32_t alive_ = 0;
  std::uint64_t requests_ = 0;  // of workers that have ended
  io::Holding cut_;
  bool ending_ = false;
};

}  // namespace steelyard::cli
