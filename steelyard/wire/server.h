// Server: a small HTTP/1 server for the control side: admin API, demo nodes, the node's agent.
// Never the data path.
//
// The handler gets whole requests (bodies capped) and a Reply, which it answers at once or keeps
// for later, from the reactor's thread. A Reply that dies unanswered gives 500; one whose client is
// gone is harmless. HEAD answers lose their body, keep-alive and pipelining work, requests of one
// connection are handled one after the other. At the cap the connection idle longest is closed for
// a new one; when none is idle, new ones wait in the kernel. Deadlines: Server options. Threads:
// the reactor's. Lifetime: Replies may outlive the Server; the Server must not be destroyed from
// inside its handler.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "steelyard/base/result.h"
#include "steelyard/io/reactor.h"
#include "steelyard/wire/message.h"
#include "steelyard/wire/options.h"

namespace steelyard::wire {

class ServerCore;

class Reply {  // move-only
 public:
  Reply() = default;
  Reply(std::weak_ptr<ServerCore> core, std::uint32_t slot, std::uint64_t generation) noexcept
      : core_(std::move(core)), slot_(slot), generation_(generation), open_(true) {}
  Reply(Reply&& other) noexcept
      : core_(std::move(other.core_)),
        slot_(other.slot_),
        generation_(other.generation_),
        open_(std::exchange(other.open_, false)) {}
  Reply& operator=(Reply&& other) noexcept;
  ~Reply();
  void send(Response response) noexcept;      // the first call counts
  void abort() noexcept;                      // breaks the connection instead (fault injection)
  [[nodiscard]] bool alive() const noexcept;  // the client still waits

 private:
  std::weak_ptr<ServerCore> core_;
  std::uint32_t slot_ = 0;
  std::uint64_t generation_ = 0;
  bool open_ = false;
};

class Server {
 public:
  using Handler = std::function<void(const Request&, Reply)>;
  Server(io::Reactor& reactor, const ServerOptions& options, Handler handler);
  ~Server();  // breaks what is open

  void listen(io::Fd socket);  // takes a listening socket; may be called for several
  // No new connections; open ones end after the answer in progress, idle ones at once. `stopped`
  // runs when all are gone.
  void drain(std::function<void()> stopped);
  [[nodiscard]] std::size_t connections() const noexcept;

 private:
  std::shared_ptr<ServerCore> core_;
};

}  // namespace steelyard::wire
