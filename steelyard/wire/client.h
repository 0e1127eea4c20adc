// Client: asks one HTTP question over a connection of its own, or only opens one. For probes,
// registries and tests.
//
// No redirects, no reuse of connections, no waiting: a total deadline covers connect, request and
// answer. The answer is whole in memory, capped. `done` runs once, from the reactor's turn, never
// inside `send`; destroying the Call before that cancels silently. `done` may destroy its Call and
// start others. Connections that ended well are closed politely in the background. Errors (origin
// kNode): kRefused, kUnreachable, kTimeout, kReset (closed or reset before the answer was whole),
// kProtocol (not HTTP/1), kLimit (too large). Threads: the reactor's. Lifetime: the Client outlives
// its Calls; destroying it cancels all. Cost: exchanges are pooled; a question takes one timer and
// about ten small allocations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "steelyard/base/result.h"
#include "steelyard/io/reactor.h"
#include "steelyard/wire/message.h"

namespace steelyard::wire {

struct CallOptions {
  base::Duration timeout = std::chrono::seconds(3);
  std::size_t max_body = std::size_t{64} << 10;
  bool want_headers = true;  // false: Response::headers stays empty
};

class ClientCore;

class [[nodiscard]] Call {  // move-only; empty when default-made
 public:
  Call() = default;
  Call(ClientCore& core, std::uint32_t slot, std::uint64_t generation) noexcept
      : core_(&core), slot_(slot), generation_(generation) {}
  Call(Call&& other) noexcept
      : core_(std::exchange(other.core_, nullptr)),
        slot_(other.slot_),
        generation_(other.generation_) {}
  Call& operator=(Call&& other) noexcept {
    if (this != &other) {
      cancel();
      core_ = std::exchange(other.core_, nullptr);
      slot_ = other.slot_;
      generation_ = other.generation_;
    }
    return *this;
  }
  ~Call() { cancel(); }
  void cancel() noexcept;  // no `done` after it
  [[nodiscard]] bool pending() const noexcept;

 private:
  ClientCore* core_ = nullptr;
  std::uint32_t slot_ = 0;
  std::uint64_t generation_ = 0;
};

class Client {
 public:
  explicit Client(io::Reactor& reactor);
  ~Client();

  using Done = std::function<void(base::Result<Response>)>;
  using Opened = std::function<void(base::Result<void>)>;
  Call send(const base::Address& to, const Request& request, const CallOptions& options, Done done);
  // Opens a TCP connection and drops it.
  Call open(const base::Address& to, base::Duration timeout, Opened done);
  [[nodiscard]] std::size_t pending() const noexcept;  // calls whose `done` has not run

 private:
  std::unique_ptr<ClientCore> core_;
};

}  // namespace steelyard::wire
