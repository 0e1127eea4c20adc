#include "steelyard/io/sim_net.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

namespace steelyard::io {

TimePoint SimNet::next() const noexcept {
  return events_.empty() ? TimePoint::max() : events_.front().at;
}

void SimNet::at(TimePoint when, std::function<void()> work) {
  const auto later = [](const Event& a, const Event& b) {
    return a.at != b.at ? a.at > b.at : a.tie > b.tie;
  };
  events_.push_back({when, rng_(), std::move(work)});
  std::push_heap(events_.begin(), events_.end(), later);
}

bool SimNet::run_one_due() {
  const auto later = [](const Event& a, const Event& b) {
    return a.at != b.at ? a.at > b.at : a.tie > b.tie;
  };
  if (events_.empty() || events_.front().at > now_) return false;
  std::pop_heap(events_.begin(), events_.end(), later);
  const auto work = std::move(events_.back().work);
  events_.pop_back();
  work();
  return true;
}

Duration SimNet::delay() {
  const auto span = options_.max_delay - options_.min_delay;
  if (span <= Duration(0)) return options_.min_delay;
  return options_.min_delay + Duration(rng_.below(static_cast<std::uint64_t>(span.count()) + 1));
}

std::size_t SimNet::part_of(std::size_t most) {
  if (!options_.partial || most < 2 || rng_.below(2) == 0) return most;
  return 1 + rng_.below(most);
}

Fd SimNet::token(const SimSocketPtr& socket) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) {
    std::perror("simulated socket");
    std::abort();
  }
  Fd mine(ends[1]);
  sweep();  // an old token of this number was closed, else the kernel would not give the number
            // again
  tokens_[mine.get()] = {Fd(ends[0]), socket};
  return mine;
}

SimSocketPtr SimNet::find(const Fd& fd) const {
  const auto at = tokens_.find(fd.get());
  return at == tokens_.end() ? nullptr : at->second.socket;
}

SimSocketPtr SimNet::take(Fd fd) {
  const auto at = tokens_.find(fd.get());
  if (at == tokens_.end()) return nullptr;
  SimSocketPtr socket = std::move(at->second.socket);
  tokens_.erase(at);
  return socket;
}

void SimNet::sweep() {
  if (tokens_.empty()) return;
  std::vector<pollfd> states;
  for (const auto& [number, token] : tokens_) states.push_back({token.keeper.get(), POLLIN, 0});
  if (::poll(states.data(), states.size(), 0) <= 0) return;
  std::vector<SimSocketPtr> orphans;
  auto at = tokens_.begin();
  for (const pollfd& state : states) {
    if ((state.revents & POLLHUP) != 0) {
      orphans.push_back(std::move(at->second.socket));
      at = tokens_.erase(at);
    } else {
      ++at;
    }
  }
  for (const auto& socket : orphans) close(socket);
}

bool SimNet::has_loose_tokens() const {
  return std::any_of(tokens_.begin(), tokens_.end(),
                     [](const auto& token) { return !token.second.socket->listening; });
}

Address SimNet::fresh_address() { return Address::loopback(next_port_++); }

SimSocketPtr SimNet::listen(const Address& address) {
  auto socket = std::make_shared<SimSocket>();
  socket->local = address.port() == 0 ? address.with_port(next_port_++) : address;
  socket->listening = true;
  listeners_.emplace_back(socket);
  return socket;
}

SimSocketPtr SimNet::listener_at(const Address& address) {
  sweep();  // one that was closed listens no more
  for (const auto& weak : listeners_) {
    const auto socket = weak.lock();
    if (!socket || socket->closed || socket->local.port() != address.port()) continue;
    const auto& ip = socket->local.ip();
    const bool any = std::all_of(ip.begin(), ip.end(), [](std::uint8_t byte) { return byte == 0; });
    if (any || socket->local == address) return socket;
  }
  return nullptr;
}

bool SimNet::is_blackhole(const Address& address) const {
  return std::find(holes_.begin(), holes_.end(), address) != holes_.end();
}

std::pair<SimSocketPtr, SimSocketPtr> SimNet::connected(const Address& a, const Address& b) {
  auto one = std::make_shared<SimSocket>();
  auto two = std::make_shared<SimSocket>();
  one->local = two->remote = a.valid() ? a : fresh_address();
  two->local = one->remote = b.valid() ? b : fresh_address();
  one->other = two;
  two->other = one;
  return {one, two};
}

SimSocketPtr SimNet::dial(const SimSocketPtr& listener) {
  auto [near, far] = connected({}, listener->local);
  listener->backlog.push_back(far);
  tell(listener);
  return near;
}

std::size_t SimNet::room(const SimSocket& socket) const {
  const auto other = socket.other.lock();
  const std::size_t used =
      socket.bytes_under_way + (other && !other->closed ? other->unread.size() : 0);
  return used >= options_.socket_buffer ? 0 : options_.socket_buffer - used;
}

void SimNet::send(const SimSocketPtr& socket, std::string bytes) {
  socket->bytes_under_way += bytes.size();
  transmit(socket, {.bytes = std::move(bytes)});
}

void SimNet::end(const SimSocketPtr& socket) {
  if (socket->fin_out || socket->reset_in) return;
  socket->fin_out = true;
  transmit(socket, {.fin = true});
}

void SimNet::reset(const SimSocketPtr& socket) {
  if (socket->closed) return;
  socket->closed = true;
  socket->changed = nullptr;
  socket->unread.clear();
  transmit(socket, {.reset = true});
}

void SimNet::close(const SimSocketPtr& socket) {
  if (socket->closed) return;
  if (socket->listening) {
    socket->closed = true;
    for (const auto& waiting : socket->backlog) reset(waiting);
    socket->backlog.clear();
    return;
  }
  if (!socket->unread.empty()) return reset(socket);
  end(socket);
  socket->closed = true;
  socket->changed = nullptr;
}

std::string SimNet::receive(SimSocket& socket, std::size_t most) {
  std::string out = socket.unread.substr(0, most);
  socket.unread.erase(0, out.size());
  const auto other = socket.other.lock();
  if (!out.empty() && other) tell(other);  // it has room again
  return out;
}

void SimNet::transmit(const SimSocketPtr& socket, SimSocket::Packet packet) {
  socket->under_way.push_back(std::move(packet));
  socket->last_arrival = std::max(socket->last_arrival, now_ + delay());
  const auto other = socket->other.lock();
  // The other end is held until the packet has arrived: a closed socket still answers with a reset.
  at(socket->last_arrival, [this, socket, other] { arrive(socket); });
}

void SimNet::arrive(const SimSocketPtr& from) {
  const SimSocket::Packet packet = std::move(from->under_way.front());
  from->under_way.pop_front();
  from->bytes_under_way -= packet.bytes.size();
  const auto to = from->other.lock();
  if (!to || to->reset_in) return;
  if (packet.reset) {
    to->reset_in = true;
  } else if (packet.fin) {
    to->fin_in = true;
  } else if (to->closed) {
    if (!from->closed) transmit(to, {.reset = true});  // nobody is there to read it
  } else {
    to->unread += packet.bytes;
  }
  if (to->changed) to->changed();
}

void SimNet::tell(const SimSocketPtr& socket) {
  after([socket] {
    if (socket->changed) socket->changed();
  });
}

}  // namespace steelyard::io
