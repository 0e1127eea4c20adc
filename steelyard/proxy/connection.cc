#include "steelyard/proxy/connection.h"

#include "steelyard/proxy/core.h"

namespace steelyard::proxy {

void Connection::on_pending() noexcept {
  pending_ = true;
  core_.deferred.add(*this);
}

void Connection::resume(http::Codec& codec) noexcept {
  if (!pending_) return;
  pending_ = false;
  codec.resume();
}

http::Room Connection::room(std::size_t bytes) noexcept {
  auto slab = core_.reactor.slab(bytes);
  char* const text = slab.text();
  const auto capacity = slab.capacity();
  return {std::move(slab).take(capacity), text};
}

bool Connection::has_room(const http::Codec& codec, http::StreamId stream) const noexcept {
  return stream_->unsent() + codec.unsent(stream) < kHighWater;
}

}  // namespace steelyard::proxy
