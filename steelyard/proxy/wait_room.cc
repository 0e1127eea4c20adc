#include "steelyard/proxy/wait_room.h"

#include "steelyard/proxy/core.h"

namespace steelyard::proxy {
namespace {

constexpr base::Duration kLook = std::chrono::milliseconds(5);

}  // namespace

WaitRoom::WaitRoom(Core& core) : core_(core), timer_(core.reactor.timer(*this)) {}

void WaitRoom::arm() noexcept {
  if (armed_ || size_ == 0) return;
  armed_ = true;
  timer_->at(core_.reactor.now() + kLook);
}

void WaitRoom::entered() noexcept {
  ++size_;
  core_.metrics.queued.add(1);
  core_.metrics.waiting.set(size_);
  arm();
}

void WaitRoom::left() noexcept {
  --size_;
  core_.metrics.waiting.set(size_);
}

void WaitRoom::look() noexcept {
  if (size_ > 0) core_.deferred.add(*this);
}

void WaitRoom::settle() noexcept {
  for (std::size_t i = 0; i < core_.states.size(); ++i) {
    const auto& queue = core_.states.at(i).queue;
    while (request::Waiter* const first = queue.first()) {
      if (!static_cast<Rules*>(first)->owner.wake()) break;
    }
  }
}

void WaitRoom::on_time() noexcept {
  armed_ = false;
  look();
  arm();
  core_.deferred.settle();
}

}  // namespace steelyard::proxy
