// The epoll back end of the reactor's contract (reactor.h).
//
// Sockets are registered once, edge-triggered, and never modified; a turn takes up to `events`
// events; bytes are received into large shared blocks that Bufs pin; writes are flushed after each
// dispatched event. Above `lend_limit` bytes of pinned blocks, received bytes are copied into exact
// slabs, so that slow readers cannot pin memory without bound. Ends the process when the kernel
// gives no epoll or event descriptor at start (broken start-up).
#pragma once

#include <cstddef>
#include <memory>

#include "steelyard/io/reactor.h"

namespace steelyard::io {

struct EpollOptions {
  unsigned events = 512;  // a wait (measured: 16 costs 1.3 µs a request more)
  // Measured (bench/proxy.sh, 1 MiB): 64 and 256 KiB cost more; few blocks stay in the cache.
  std::size_t receive_block = std::size_t{128} << 10;
  std::size_t lend_limit = std::size_t{16} << 20;  // guess: 128 blocks
};

[[nodiscard]] std::unique_ptr<Reactor> make_epoll_reactor(const EpollOptions& options = {});

}  // namespace steelyard::io
