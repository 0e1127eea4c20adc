// Core's part in stopping: who may still come in, who is told, and when nothing is left.
#include <algorithm>
#include <utility>

#include "steelyard/proxy/core.h"

namespace steelyard::proxy {

using base::TimePoint;

void Core::drain(TimePoint idle_until, TimePoint limit, TimePoint accept_until) {
  draining_ = true;
  idle_until_ = idle_until;
  limit_ = limit;
  accept_until_ = accept_until;
  stop_listening(reactor.now());
  due_by(reactor.now() + kBeat);
}

void Core::stop_listening(TimePoint now) noexcept {
  if (now < accept_until_) return;
  accept_until_ = TimePoint::max();
  for (auto& listening : listenings_) listening->stop();
  let_clients_in();
}

void Core::go_on_draining(TimePoint now) noexcept {
  stop_listening(now);
  if (now >= limit_) {
    // Who still waits in a queue cannot be let in, for want of descriptors say.
    for (auto& listening : listenings_) listening->give_up();
    // First they are told, and a little later they are closed.
    const bool told = std::exchange(told_, true);
    if (!told) {
      metrics.cut_exchanges.add(live_exchanges);
      metrics.cut_tunnels.add(metrics.tunnels_open.read());
    }
    limit_ = now + kLastWords;
    for (ClientConnection* client = clients.first(); client != nullptr;) {
      ClientConnection& one = *client;
      client = client->all.after;
      if (told) one.kill();
      // An idle one loses nothing.
      if (!told && (one.exchanges() != nullptr || !one.codec().idle())) {
        metrics.cut_connections.add(1);
      }
      while (Exchange* const exchange = one.exchanges()) exchange->expire();
    }
    return;
  }
  const bool all_stopped = std::all_of(listenings_.begin(), listenings_.end(),
                                       [](const auto& listening) { return listening->stopped(); });
  if (all_stopped && now >= idle_until_) close_idle_of(nullptr);
}

void Core::check_finished() noexcept {
  const bool all_stopped = std::all_of(listenings_.begin(), listenings_.end(),
                                       [](const auto& listening) { return listening->stopped(); });
  if (finished_ || !all_stopped || !clients.empty() || live_exchanges > 0) return;
  finished_ = true;
  pools.close_all();
  deferred.settle();
  events.on_drained();
}

}  // namespace steelyard::proxy
