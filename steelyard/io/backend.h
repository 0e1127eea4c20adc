// Which back end the reactors of worker threads have, and the one place that chooses it.
//
// `auto` takes io_uring where the kernel gives all that it needs, else epoll. Both keep the same
// contract; io_uring needs fewer system calls.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "steelyard/base/result.h"
#include "steelyard/io/options.h"
#include "steelyard/io/reactor.h"
#include "steelyard/io/uring.h"

namespace steelyard::io {

[[nodiscard]] std::string_view to_text(Backend backend) noexcept;

struct BackendChoice {
  Backend backend = Backend::kEpoll;  // never kAuto
  UringOptions::Wake wake = UringOptions::Wake::kDeferred;
  std::string reason;  // for people: what it will use of io_uring, or why it will not
};
// Fails only for kUring where there is none, with the reason. Any thread; some 100 µs.
[[nodiscard]] base::Result<BackendChoice> choose_backend(Backend wanted);

// A reactor of the calling thread. Fails when the kernel has no memory or descriptors for a ring.
[[nodiscard]] base::Result<std::unique_ptr<Reactor>> make_reactor(const BackendChoice& choice);

}  // namespace steelyard::io
