// The epoll back end of the reactor's contract (reactor.h).
//
// Sockets are registered once, edge-triggered, and never modified; a turn takes up to `events`
// events; bytes are received into large shared blocks that Bufs pin; writes are flushed after each
// dispatched event. Above `lend_limit` bytes of pinned blocks, received bytes are copied into exact
// slabs, so that slow readers cannot pin memory without bound. A watch or a listener that the
// kernel has no memory for is enrolled again every 10 ms.
#pragma once

#include <cstddef>
#include <memory>

#include "steelyard/base/result.h"
#include "steelyard/io/reactor.h"

namespace steelyard::io {

struct EpollOptions {
  unsigned events = 512;  // a wait (measured: 16 costs 1.3 µs a request more)
  // Measured (bench/proxy.sh, 1 MiB): 64 and 256 KiB cost more; few blocks stay in the cache.
  std::size_t receive_block = std::size_t{256} << 10;
  std::size_t lend_limit = std::size_t{8} << 20;  // 64 blocks; 64 large bodies stay below 16 MiB
};

// Fails when the kernel gives no epoll or event descriptor.
[[nodiscard]] base::Result<std::unique_ptr<Reactor>> open_epoll_reactor(
    const EpollOptions& options = {});
// For a program's own first reactor: where there is none it says why on stderr, in one line, and
// ends the process with status 1.
[[nodiscard]] std::unique_ptr<Reactor> make_epoll_reactor(const EpollOptions& options = {});

}  // namespace steelyard::io
