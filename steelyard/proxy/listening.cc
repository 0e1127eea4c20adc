#include "steelyard/proxy/listening.h"

#include <limits>
#include <utility>

#include "steelyard/io/socket.h"
#include "steelyard/proxy/core.h"

namespace steelyard::proxy {

Listening::Listening(Core& core, const io::Fd& socket, const base::Address& address)
    : core_(core), socket_(socket), address_(address) {
  // Whoever had the socket before may have ended while it drained.
  (void)io::resume_new_connections(socket);
  can_look_ = static_cast<bool>(io::accept_queue(socket));
  listener_ = core.reactor.listen(socket, *this);
}

void Listening::give(unsigned credit) noexcept {
  if (listener_ == nullptr || credit == 0) return;
  given_ += credit;
  listener_->grant(credit);
}

std::size_t Listening::most() const noexcept {
  const auto limit =
      generation == nullptr ? 0U : generation->config->listeners[place].max_connections;
  return limit == 0 ? std::numeric_limits<std::size_t>::max() : core_.share(limit);
}

void Listening::stop() noexcept {
  if (state_ != State::kOpen) return;
  state_ = State::kEmptying;
  // Where the kernel cannot do it (and in simulation) new connections come until the queue was seen
  // empty.
  (void)io::stop_new_connections(socket_);
}

void Listening::hand_over() noexcept {
  if (state_ != State::kOpen) return;
  state_ = State::kStopping;
  listener_->stop();
}

void Listening::give_up() noexcept {
  if (state_ != State::kEmptying) return;
  state_ = State::kStopping;
  if (!renewing_) listener_->stop();
}

void Listening::check_queue() noexcept {
  if (state_ != State::kEmptying) return;
  const auto waiting = io::accept_queue(socket_);
  quiet_ = waiting && *waiting > 0 ? 0 : quiet_ + 1;
  if (quiet_ < kQuietBeats) return;
  state_ = State::kStopping;
  listener_->stop();
}

void Listening::look() noexcept {
  const bool moved = std::exchange(moved_, false);
  const bool accepts = (open() || emptying()) && given_ > 0 && !renewing_;
  const auto waiting = accepts && !moved ? io::accept_queue(socket_) : base::Result<unsigned>(0U);
  if (!waiting || *waiting == 0) {
    still_ = false;
  } else if (!std::exchange(still_, true)) {
    return;
  } else {
    still_ = false;
    renewing_ = true;
    listener_->stop();
  }
}

void Listening::on_accept(io::Fd socket, const base::Address& peer) noexcept {
  moved_ = true;
  if (given_ > 0) --given_;
  bool counted = false;
  if (core_.admit(peer, counted)) {
    core_.new_client().adopt(std::move(socket), peer, counted, *this);
  } else {
    core_.metrics.address_refused.add(1);
    socket.reset();
  }
  core_.let_clients_in();
  core_.deferred.settle();
}

void Listening::on_stopped() noexcept {
  if (std::exchange(renewing_, false) && (open() || emptying())) {
    listener_ = core_.reactor.listen(socket_, *this);
    return listener_->grant(given_);
  }
  state_ = State::kStopped;
  listener_.reset();
  core_.listener_stopped(*this);
  core_.deferred.settle();
}

}  // namespace steelyard::proxy
