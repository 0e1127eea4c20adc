// The simulated back end of the reactor's contract: virtual time, sockets in memory, seeded order,
// for tests.
//
// It is completion-shaped like io_uring: a receive, send, accept or connect is submitted and
// finishes later, in an order drawn from the seed, with partial amounts; operations outlive
// handles, accepts may finish after `stop`, and every receive buffer stands between canaries that
// are checked when it is given back (the process aborts when one was touched). Time moves only in
// `run_turn`: it jumps to the next event or timer, at most to `until`.
//
// Fds are tokens (pipe ends), so that they can be closed like real ones: closing a token that
// nobody adopted resets its peer. Use: `listener(address)` and `pair()` make sockets, `peer(fd)`
// scripts one end by hand, `connect` finds listeners by address; an address without one refuses, a
// blackholed one never answers. One thread, but for `post`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "steelyard/io/reactor.h"

namespace steelyard::io {

struct SimOptions {
  std::uint64_t seed = 1;
  Duration min_delay = std::chrono::microseconds(1);  // of every operation and every packet
  Duration max_delay = std::chrono::microseconds(100);
  std::size_t socket_buffer = std::size_t{64} << 10;   // bytes under way and unread, each direction
  std::size_t receive_buffer = std::size_t{16} << 10;  // of one receive operation
  bool partial = true;                                 // reads and writes of random part sizes
};

// One end of a simulated connection, moved by hand.
class SimPeer {
 public:
  virtual ~SimPeer() = default;                         // closes; resets when bytes are unread
  virtual std::size_t send(std::string_view text) = 0;  // as much as fits; gives the number taken
  virtual void end() = 0;                               // FIN
  virtual void reset() = 0;                             // RST
  [[nodiscard]] virtual std::string read(std::size_t most) = 0;  // what has arrived
  [[nodiscard]] virtual bool ended() const = 0;  // FIN arrived and everything is read
  [[nodiscard]] virtual bool was_reset() const = 0;
};

class SimReactor : public Reactor {
 public:
  // A listening socket; port 0 takes a free one (see address_of).
  [[nodiscard]] virtual Fd listener(const Address& address) = 0;
  [[nodiscard]] virtual Address address_of(const Fd& socket) const = 0;
  // Two connected sockets.
  [[nodiscard]] virtual std::pair<Fd, Fd> pair() = 0;
  [[nodiscard]] virtual std::unique_ptr<SimPeer> peer(Fd socket) = 0;
  // Dials a listener by hand; null when nobody listens there.
  [[nodiscard]] virtual std::unique_ptr<SimPeer> dial(const Address& to) = 0;
  virtual void blackhole(const Address& address) = 0;
  // Makes the watches of this descriptor report.
  virtual void make_ready(const Fd& fd) = 0;
  // Operations submitted and not yet finished, with those of destroyed handles.
  [[nodiscard]] virtual std::size_t outstanding() const = 0;
};

[[nodiscard]] std::unique_ptr<SimReactor> make_sim_reactor(const SimOptions& options = {});

}  // namespace steelyard::io
