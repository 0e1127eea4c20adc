// Core's part in memory: under pressure which stage holds, what it shortens, and whom it sheds; and
// what is given up when a crowd is gone.
#include <algorithm>

#include "steelyard/proxy/core.h"

namespace steelyard::proxy {

void Core::check_memory(base::TimePoint now) noexcept {
  constexpr auto kEvery = std::chrono::milliseconds(1);
  constexpr auto kShedEvery = std::chrono::milliseconds(10);
  if (config() == nullptr) return;
  next_memory_ = now + kEvery;
  const auto stats = reactor.stats();
  const std::size_t used = stats.slab_bytes + stats.receive_bytes + http::joined_bytes(*http1_);
  const auto budget =
      static_cast<std::size_t>(config()->overload.memory.count) / std::max(1U, options.workers);
  metrics.memory.set(used);
  const Stage before = overload.stage();
  if (overload.update(used, budget)) {
    metrics.stage.set(static_cast<std::uint64_t>(overload.stage()));
    if (before == Stage::kCalm) metrics.overload_entered.add(1);
    events.on_overload(overload.stage(), used, budget);
    due_by(now + kBeat);  // waits have become shorter or longer
  }
  if (overload.stage() < Stage::kShed || now < next_shed_) return;
  next_shed_ = now + kShedEvery;
  shed_largest();
}

void Core::shed_largest() noexcept {
  ClientConnection* largest = nullptr;
  std::size_t most = 0;
  for (ClientConnection* client = clients.first(); client != nullptr; client = client->all.after) {
    const std::size_t held = client->held();
    if (held <= most) continue;
    most = held;
    largest = client;
  }
  if (largest == nullptr) return;
  metrics.overload_shed.add(1);
  largest->shed();
}

// Between turns and with nothing deferred: no list, timer, stream or stack names what is free. A
// little at a time, so that nobody waits for it.
void Core::trim(base::TimePoint now) noexcept {
  constexpr auto kStep = std::chrono::milliseconds(10);
  constexpr std::size_t kMost = 64;  // a guess: some 10 us
  const bool second = now >= next_second_;
  if (second) next_second_ = now + std::chrono::seconds(1);
  const std::size_t bytes = sizeof(ClientConnection) * client_pool_.trim(second, kMost) +
                            sizeof(NodeConnection) * node_connection_pool_.trim(second, kMost) +
                            sizeof(Exchange) * exchange_pool_.trim(second, kMost) +
                            reactor.trim(second) + http::trim(*http1_, second);
  next_trim_ = bytes > 0 ? now + kStep : next_second_;
  if (bytes == 0) return;
  metrics.trimmed.add(bytes);
  due_by(next_trim_);
}

base::Duration Core::hurried(base::Duration wait) const noexcept {
  constexpr int kHurry = 4;
  return overload.stage() >= Stage::kHurry ? wait / kHurry : wait;
}

base::Duration Core::head_wait() const noexcept {
  const auto* const now = config();
  return hurried((now != nullptr ? now->clients : ClientOptions{}).head_timeout);
}

base::Duration Core::idle_wait() const noexcept {
  const auto* const now = config();
  return hurried((now != nullptr ? now->clients : ClientOptions{}).idle_timeout);
}

}  // namespace steelyard::proxy
