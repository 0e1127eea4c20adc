// The io_uring back end of the reactor's contract (reactor.h).
//
// One ring a thread, made for a single issuer that runs completions only when it waits
// (SINGLE_ISSUER, DEFER_TASKRUN); a turn is one io_uring_enter: what the last turn queued is
// submitted and the next completions are waited for together. Receives are single shots into a
// ring of few large buffers that Bufs pin; above half of them lent, and for the third that one
// stream would pin, bytes are copied; without a free buffer they are received into a slab. What
// comes or goes in large pieces does so by calls of its own, of up to 256 KiB (uring_reactor.h).
// The ring takes only the opcodes used, since io_uring passes by seccomp filters. No library is
// needed: the kernel's interface is spoken in uring_ring.h.
//
// Threads: like any Reactor, but strictly: the kernel refuses any other thread than the maker's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "steelyard/base/result.h"
#include "steelyard/io/reactor.h"

namespace steelyard::io {

struct UringOptions {
  unsigned entries = 1024;       // of the submission ring; more in a turn cost another enter
  unsigned completions = 16384;  // of the completion ring; more wait in the kernel
  // Of the receive ring, a power of two. Measured (a relay, 64 connections, bodies of 16 KiB): 64
  // cost a third more, since above half of them bytes are copied.
  unsigned buffers = 128;
  // Measured (the same): 16 KiB cost half as much again for bodies of 16 KiB, and twice as much for
  // 1 MiB; 64 KiB a quarter more for 1 MiB: all receives of a turn come before its sends, and what
  // they hold together has to fit a cache.
  std::size_t buffer = std::size_t{32} << 10;
  // How completions get to the thread; the best that the kernel has, or a worse one, for tests.
  enum class Wake : std::uint8_t { kDeferred, kCooperative, kInterrupting } wake = Wake::kDeferred;
};

struct UringProbe {
  bool usable = false;
  UringOptions::Wake wake = UringOptions::Wake::kDeferred;  // the best that works
  // For people: what it will use, or why not ("io_uring is disabled (kernel.io_uring_disabled is
  // 2)").
  std::string reason;
};
// Makes and unmakes a ring; some 100 µs. Any thread.
[[nodiscard]] UringProbe probe_uring();

// Fails as probe_uring says, or without memory.
[[nodiscard]] base::Result<std::unique_ptr<Reactor>> make_uring_reactor(
    const UringOptions& options = {});

}  // namespace steelyard::io
