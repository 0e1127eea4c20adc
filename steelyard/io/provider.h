// Provider: the one seam through which an engine gets its listening sockets, the state that
// outlives it, and the right to act.
//
// In-process (make_local_provider), or from a supervisor (remote_provider.h): sockets by
// SCM_RIGHTS, the state in a memfd. A socket lives by (address, worker): asked for again, after a
// reload or by the next engine, it is the same socket, so that its queue is never reset while the
// address is configured. Control thread only.
//
// The lease: of all engines under a supervisor one at a time may tick, apply and write; it waits
// for the lease before its first tick, and gives it back when another is to have it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "steelyard/base/address.h"
#include "steelyard/base/result.h"
#include "steelyard/io/fd.h"
#include "steelyard/io/process_status.h"
#include "steelyard/io/shared_memory.h"

namespace steelyard::io {

class Provider {
 public:
  virtual ~Provider() = default;
  // A descriptor of the caller's own for the socket of (address, worker); closing it does not close
  // the socket. With port 0 all workers of the address share the port the kernel chose
  // (local_address tells it). ListenerSet::kAdmin for a worker: the admin API's, not shared.
  [[nodiscard]] virtual base::Result<Fd> listener(const base::Address& address,
                                                  unsigned worker) = 0;
  // The addresses as configured now, the admin API's too: sockets of all others are closed. Drain
  // those first (stop_new_connections).
  virtual void keep_only(std::span<const base::Address> configured) = 0;
  // The number of workers in force: what the first engine wanted, until the supervisor ends.
  [[nodiscard]] virtual unsigned workers(unsigned wanted) = 0;
  // For the process that signals are meant for; dropped when that ends.
  [[nodiscard]] virtual base::Result<void> claim_pid_file(const std::string& path) = 0;
  // What the last engine left (empty: nothing), and what the next one shall find. Rewritten each
  // tick by who has the lease; never half written.
  [[nodiscard]] virtual std::string state() const = 0;
  virtual void put_state(std::string_view blob) = 0;
  // The configuration that was in force last (empty: none was kept), and what the next engine shall
  // begin with when this one crashes. By who has the lease; never half written.
  [[nodiscard]] virtual std::string kept_config() const = 0;
  virtual void keep_config(std::string_view record) = 0;
  // Waits until the lease is ours.
  [[nodiscard]] virtual base::Result<void> lease() = 0;
  // The engine serves: others may hand over to it.
  virtual void ready() = 0;
  // Where loop `number` shows that it turns (see Heartbeat); null: nobody watches.
  [[nodiscard]] virtual Heartbeat::Pulse* pulse(unsigned loop) noexcept = 0;
  [[nodiscard]] virtual ProcessStatus status() const = 0;
};

[[nodiscard]] std::unique_ptr<Provider> make_local_provider();

}  // namespace steelyard::io
