// Signals as reactor callbacks: HUP TERM INT QUIT USR1 USR2 are blocked everywhere and read from a
// signalfd.
//
// `block_signals()` must run in main before the first thread starts; it also ignores SIGPIPE and
// SIGXFSZ. One Signals a process.
#pragma once

#include <functional>
#include <memory>

#include "steelyard/base/result.h"
#include "steelyard/io/reactor.h"

namespace steelyard::io {

void block_signals();

class Signals {
 public:
  virtual ~Signals() = default;
};

// `on_signal` gets the signal's number on the reactor's thread; it must not destroy the Signals.
[[nodiscard]] base::Result<std::unique_ptr<Signals>> watch_signals(
    Reactor& reactor, std::function<void(int)> on_signal);

}  // namespace steelyard::io
