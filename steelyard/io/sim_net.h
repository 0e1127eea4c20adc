// SimNet: the kernel of the simulated back end: virtual time, events in seeded order, sockets in
// memory.
//
// A direction of a connection is a queue of packets that arrive in order, each after a random
// delay; bytes under way and unread together never exceed the socket buffer. `changed` of a socket
// runs from an event whenever something happened to it (bytes, FIN, reset, room to send, a
// connection to accept). One thread.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "steelyard/base/rng.h"
#include "steelyard/io/sim.h"

namespace steelyard::io {

struct SimSocket {
  Address local;
  Address remote;
  std::weak_ptr<SimSocket> other;
  std::function<void()> changed;
  // Towards this end.
  std::string unread;
  bool fin_in = false;
  bool reset_in = false;
  // Away from this end.
  struct Packet {
    std::string bytes;
    bool fin = false;
    bool reset = false;
  };
  std::deque<Packet> under_way;
  std::size_t bytes_under_way = 0;
  TimePoint last_arrival{};
  bool fin_out = false;
  bool closed = false;
  // A listening socket.
  bool listening = false;
  std::deque<std::shared_ptr<SimSocket>> backlog;
};

using SimSocketPtr = std::shared_ptr<SimSocket>;

class SimNet {
 public:
  explicit SimNet(const SimOptions& options) : options_(options), rng_(options.seed) {}
  SimNet(const SimNet&) = delete;
  SimNet& operator=(const SimNet&) = delete;

  // Time and events.
  [[nodiscard]] TimePoint now() const noexcept { return now_; }
  [[nodiscard]] TimePoint next() const noexcept;
  void advance(TimePoint to) noexcept { now_ = std::max(now_, to); }
  void after(std::function<void()> work) { at(now_ + delay(), std::move(work)); }
  void at(TimePoint when, std::function<void()> work);
  bool run_one_due();
  void forget_events() { events_.clear(); }
  // A part of `most` (> 0): all of it, or a random part when partial work is on.
  [[nodiscard]] std::size_t part_of(std::size_t most);

  // Sockets.
  [[nodiscard]] Fd token(const SimSocketPtr& socket);
  [[nodiscard]] SimSocketPtr find(const Fd& fd) const;  // null for a foreign descriptor
  [[nodiscard]] SimSocketPtr take(Fd fd);               // from now on its owner closes it
  void sweep();                                         // closes sockets whose tokens were closed
  [[nodiscard]] bool has_loose_tokens() const;          // of others than listeners
  [[nodiscard]] SimSocketPtr listen(const Address& address);
  [[nodiscard]] SimSocketPtr listener_at(const Address& address);
  void blackhole(const Address& address) { holes_.push_back(address); }
  [[nodiscard]] bool is_blackhole(const Address& address) const;
  [[nodiscard]] std::pair<SimSocketPtr, SimSocketPtr> connected(const Address& a, const Address& b);
  // A new connection in the listener's backlog; gives the dialling end.
  [[nodiscard]] SimSocketPtr dial(const SimSocketPtr& listener);

  [[nodiscard]] std::size_t room(const SimSocket& socket) const;
  void send(const SimSocketPtr& socket, std::string bytes);
  void end(const SimSocketPtr& socket);
  void reset(const SimSocketPtr& socket);
  void close(const SimSocketPtr& socket);  // FIN, or reset when bytes are unread
  [[nodiscard]] std::string receive(SimSocket& socket, std::size_t most);

 private:
  struct Event {
    TimePoint at;
    std::uint64_t tie;
    std::function<void()> work;
  };
  struct Token {
    Fd keeper;  // read end of the token's pipe: it hangs up when the token is closed
    SimSocketPtr socket;
  };
  [[nodiscard]] Duration delay();
  void transmit(const SimSocketPtr& socket, SimSocket::Packet packet);
  void arrive(const SimSocketPtr& from);
  void tell(const SimSocketPtr& socket);
  [[nodiscard]] Address fresh_address();

  SimOptions options_;
  base::Rng rng_;
  TimePoint now_{std::chrono::hours(1)};
  std::vector<Event> events_;  // a heap
  std::map<int, Token> tokens_;
  std::vector<std::weak_ptr<SimSocket>> listeners_;
  std::vector<Address> holes_;
  std::uint16_t next_port_ = 40000;
};

}  // namespace steelyard::io
