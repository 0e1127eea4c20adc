// Worker: one thread's share of the data plane. Accepts on its listeners, turns connections into
// exchanges, keeps pools of connections to nodes, and counts.
//
// Life: made on its own thread with that thread's Reactor; `turn` in a loop until `finished`; then
// destroyed there. All calls but the constructor's borrow are on that thread (from others: post a
// task to the reactor). The worker reads its published record at the start of each turn, so whoever
// publishes wakes it by posting.
//
// Listeners belong to addresses of the Config. `add_listener` borrows the socket until
// `on_listener_stopped` or the worker's end. `remove_listener` and `drain` first stop new
// connections, then accept until the queue stays empty, then stop; nothing accepted or queued is
// lost.
//
// Drain: requests go on being answered, with `Connection: close`, on new connections too until
// `accept_until`; connections on which nothing is
// under way are closed after `idle`; at `limit` the rest is broken off. Then `on_drained` and
// `finished`.
//
// Cost: no allocation per exchange after warm-up; what no load of the last minute needed is freed
// (base/surplus.h), a little at a time, between turns. Borrows everything it is given; all of it
// must outlive the worker.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "steelyard/http/http1.h"
#include "steelyard/io/clock.h"
#include "steelyard/io/reactor.h"
#include "steelyard/model/slots.h"
#include "steelyard/proxy/metrics.h"
#include "steelyard/proxy/options.h"
#include "steelyard/proxy/overload.h"
#include "steelyard/proxy/published.h"

namespace steelyard::proxy {

class WorkerEvents {  // called on the worker's thread, inside a turn; post what is for others
 public:
  // A node refused or failed: control should tick soon. At most once in 5 ms.
  virtual void on_urgent(model::NodeRef node) noexcept = 0;
  virtual void on_taken(std::uint64_t record) noexcept = 0;  // a new record is in use
  virtual void on_listener_stopped(const base::Address& address) noexcept = 0;
  virtual void on_drained() noexcept = 0;
  // Bytes in buffers and the worker's part of the budget; whoever has no budget needs no code.
  virtual void on_overload(Stage /*stage*/, std::size_t /*used*/, std::size_t /*budget*/) noexcept {
  }

 protected:
  ~WorkerEvents() = default;
};

using ServerCodecs = std::function<std::unique_ptr<http::ServerCodec>(http::CodecEvents& events)>;
using ClientCodecs = std::function<std::unique_ptr<http::ClientCodec>(http::CodecEvents& events)>;

class AccessRing;
class AddressCounts;

struct WorkerOptions {
  std::uint32_t index = 0;    // its cells in the Slots
  std::uint32_t workers = 1;  // sharing max_connections
  std::uint64_t seed = 1;     // each worker its own
  // Of HTTP/1. Its blocks travel through the reactor, which may hold them longer than the worker
  // lives: it must outlive the reactor. Empty: a pool of the worker's own, for reactors that drop
  // what a destroyed stream had queued (epoll).
  std::shared_ptr<http::Http1Pool> http1;
  // Shared by the workers of a process; empty: the worker's own.
  std::shared_ptr<AddressCounts> addresses;
  std::function<io::WallTime()> wall = io::wall_now;  // for dates, of nodes and our own
  AccessRing* access = nullptr;  // where its exchanges are logged; outlives the worker
  // Client connections that the process has descriptors for; 0: enough for any Config.
  std::uint32_t most_clients = 0;
  http::Http1Limits limits;   // of the worker's own pool
  ServerCodecs server_codec;  // empty: HTTP/1
  ClientCodecs client_codec;  // empty: HTTP/1
};

class Core;

class Worker {
 public:
  Worker(io::Reactor& reactor, const WorkerOptions& options, const model::Slots& slots,
         Published& published, WorkerEvents& events);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // Takes the published record, then runs the reactor once, waiting at most until `until`.
  void turn(base::TimePoint until);

  // `address` is the one in the Config (which may say port 0), which must have been published: the
  // call takes the record too, since the first client may be waiting already.
  void add_listener(const io::Fd& socket, const base::Address& address);
  void remove_listener(const base::Address& address);
  // Another process accepts on the same socket from now: stop at once and leave it the queue.
  void hand_over(const base::Address& address);
  // New connections are taken until `accept_until`, if that is still to come.
  void drain(base::TimePoint idle_until, base::TimePoint limit, base::TimePoint accept_until = {});

  [[nodiscard]] bool draining() const noexcept;
  [[nodiscard]] bool finished() const noexcept;            // drained: nothing is left
  [[nodiscard]] std::size_t connections() const noexcept;  // of clients
  [[nodiscard]] std::size_t exchanges() const noexcept;    // in progress
  [[nodiscard]] std::size_t widened() const noexcept;      // see window.h; 0 without bodies
  [[nodiscard]] std::size_t objects() const noexcept;  // for those and for connections to nodes:
                                                       // in use, or kept to be used again
  [[nodiscard]] const WorkerMetrics& metrics() const noexcept;  // readable from any thread

 private:
  std::unique_ptr<Core> core_;
};

}  // namespace steelyard::proxy
