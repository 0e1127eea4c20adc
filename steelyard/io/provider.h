// Provider: the one seam through which an engine gets its listening sockets and its state blob.
//
// In-process now; a supervisor process can take it over (sockets by SCM_RIGHTS, the blob in a
// memfd) without a change in the engine. A socket lives by (address, worker): asked for again,
// after a reload, it is the same socket, so that its queue is never reset while the address is
// configured. Control thread only.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "steelyard/base/address.h"
#include "steelyard/base/result.h"
#include "steelyard/io/fd.h"

namespace steelyard::io {

class Provider {
 public:
  virtual ~Provider() = default;
  // A descriptor of the caller's own for the socket of (address, worker); closing it does not close
  // the socket. With port 0 all workers of the address share the port the kernel chose
  // (local_address tells it).
  [[nodiscard]] virtual base::Result<Fd> listener(const base::Address& address,
                                                  unsigned worker) = 0;
  // The addresses as configured now: sockets of all others are closed. Drain those first
  // (stop_new_connections).
  virtual void keep_only(std::span<const base::Address> configured) = 0;
  // What the last engine left (empty: nothing), and what the next one shall find. Rewritten each
  // tick; never half written.
  [[nodiscard]] virtual std::string state() const = 0;
  virtual void put_state(std::string blob) = 0;
};

[[nodiscard]] std::unique_ptr<Provider> make_local_provider();

}  // namespace steelyard::io
