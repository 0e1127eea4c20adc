// Listening TCP sockets, and the addresses of sockets.
//
// A listening socket is non-blocking, close-on-exec, SO_REUSEADDR, SO_REUSEPORT (one a worker),
// TCP_NODELAY (accepted sockets inherit it) and, for IPv6, IPv6 only. Threads: any.
#pragma once

#include "steelyard/base/address.h"
#include "steelyard/base/result.h"
#include "steelyard/io/fd.h"

namespace steelyard::io {

struct ListenOptions {
  int backlog = 4096;  // cut by net.core.somaxconn
  bool reuse_port =
      true;  // several sockets on one address, the kernel spreads connections over them
};

// Port 0: the kernel chooses; read it back with local_address.
[[nodiscard]] base::Result<Fd> listen_tcp(const base::Address& address,
                                          const ListenOptions& options = {});
[[nodiscard]] base::Result<base::Address> local_address(const Fd& socket);
[[nodiscard]] base::Result<base::Address> peer_address(const Fd& socket);

// First step of stopping a listening socket without loss: new SYNs are dropped from here on (the
// peer's kernel sends them again, and finds another socket of the address or a refusal), while
// handshakes under way still finish. Then accept until `accept_queue` stays 0, then close.
[[nodiscard]] base::Result<void> stop_new_connections(const Fd& socket);
// Undoes it.
[[nodiscard]] base::Result<void> resume_new_connections(const Fd& socket);
// Bytes that the kernel has taken from us and the peer's has not confirmed; 0 when unknown.
[[nodiscard]] std::size_t unconfirmed_bytes(const Fd& socket) noexcept;
// Finished handshakes waiting to be accepted.
[[nodiscard]] base::Result<unsigned> accept_queue(const Fd& socket);

}  // namespace steelyard::io
