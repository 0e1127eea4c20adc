#include "steelyard/proxy/client_connection.h"

#include "steelyard/proxy/core.h"

namespace steelyard::proxy {

void ClientConnection::adopt(io::Fd socket, const base::Address& peer, Listening& listening) {
  listening_ = &listening;
  ++listening.connections;
  state_ = State::kOpen;
  asked_ = pending_ = ended_ = false;
  discarded_ = 0;
  ip_size_ = static_cast<std::uint8_t>(peer.write_ip(ip_.data()));
  codec_ = core_.server_codec(*this);
  core_.clients.push(*this, core_.reactor.now());
  core_.metrics.accepted.add(1);
  stream_ = core_.reactor.adopt(std::move(socket), *this);
  place();
}

bool ClientConnection::leaving() const noexcept {
  return core_.draining() || listening_->removed || !listening_->open();
}

Exchange* ClientConnection::find(http::StreamId id) noexcept {
  for (Exchange* at = exchanges_; at != nullptr; at = at->next) {
    if (at->stream() == id) return at;
  }
  return nullptr;
}

void ClientConnection::over(Exchange& exchange) noexcept {
  for (Exchange** at = &exchanges_; *at != nullptr; at = &(*at)->next) {
    if (*at != &exchange) continue;
    *at = exchange.next;
    break;
  }
  exchange.next = nullptr;
  core_.deferred.add(*this);
}

void ClientConnection::abort(http::StreamId stream) noexcept {
  codec_->reset(stream, http::Why::kTruncated);
}

bool ClientConnection::writable(http::StreamId stream) const noexcept {
  return stream_->unsent() + codec_->unsent(stream) < kHighWater;
}

// Into the list that fits what it waits for now. A wait that goes on keeps its start, so that a
// head that trickles in is not given more time with each byte.
void ClientConnection::place() noexcept {
  Clients* want = nullptr;
  base::Duration wait{};
  const auto* const config = core_.config();
  const ClientOptions options = config != nullptr ? config->clients : ClientOptions{};
  if (state_ == State::kLingering) {
    const bool all_said = ended_ && stream_->unsent() == 0;
    want = all_said ? &core_.closing : &core_.lingering;
    wait = kLingerTime;
  } else if (state_ == State::kOpen && exchanges_ == nullptr) {
    const bool between = asked_ && codec_->idle();
    want = between ? &core_.idle : &core_.waiting_head;
    wait = between ? options.idle_timeout : options.head_timeout;
  }
  if (want == nullptr) return Clients::leave(*this);
  if (want->holds(*this)) return;
  Clients::leave(*this);
  want->push(*this, core_.reactor.now());
  core_.due_by(core_.reactor.now() + wait);
}

void ClientConnection::on_due() noexcept {
  if (state_ == State::kLingering) {
    kill();
  } else if (codec_->idle() && asked_) {
    codec_->drain();
  } else {
    codec_->refuse(408);
  }
  core_.deferred.add(*this);
}

void ClientConnection::close_if_idle() noexcept {
  if (state_ != State::kOpen || exchanges_ != nullptr || !codec_->idle()) return;
  codec_->drain();
  core_.deferred.add(*this);
}

void ClientConnection::kill() noexcept {
  if (state_ == State::kFree || state_ == State::kDead) return;
  state_ = State::kDead;
  Clients::leave(*this);
  core_.deferred.add(*this);
  codec_->receive_failed();
}

void ClientConnection::settle() noexcept {
  if (state_ == State::kDead) {
    while (exchanges_ != nullptr) exchanges_->on_client_gone();
    Clients::leave(*this);
    AllClients::leave(*this);
    stream_.reset();
    codec_.reset();
    state_ = State::kFree;
    --listening_->connections;
    core_.metrics.closed.add(1);
    core_.free(*this);
    return;
  }
  if (pending_) {
    pending_ = false;
    codec_->resume();
  }
  if (state_ == State::kDead) return;  // queued again
  place();
}

void ClientConnection::begin_linger() noexcept {
  state_ = State::kLingering;
  stream_->end_write();
  stream_->grant(kLinger);
  core_.deferred.add(*this);
}

void ClientConnection::on_open(const io::PeerInfo& /*peer*/) noexcept {
  codec_->start();
  core_.deferred.settle();
}

void ClientConnection::on_bytes(base::Buf bytes) noexcept {
  core_.metrics.received.add(bytes.size());
  if (state_ == State::kOpen) {
    codec_->receive(std::move(bytes));
    core_.deferred.add(*this);
  } else if (state_ == State::kLingering) {
    discarded_ += bytes.size();
    if (discarded_ >= kLinger) kill();
  }
  core_.deferred.settle();
}

void ClientConnection::on_end() noexcept {
  ended_ = true;
  if (state_ == State::kOpen) codec_->receive_end();
  core_.deferred.add(*this);
  core_.deferred.settle();
}

void ClientConnection::on_sent(std::size_t bytes) noexcept {
  core_.metrics.sent.add(bytes);
  for (Exchange* at = exchanges_; at != nullptr; at = at->next) at->on_client_writable();
  if (state_ == State::kLingering) core_.deferred.add(*this);
  core_.deferred.settle();
}

void ClientConnection::on_failed(base::Error /*error*/) noexcept {
  kill();
  core_.deferred.settle();
}

void ClientConnection::on_head(http::StreamId id, const http::Head& head) noexcept {
  asked_ = true;
  Clients::leave(*this);
  if (leaving()) codec_->drain();
  Exchange& exchange = core_.new_exchange();
  exchange.next = exchanges_;
  exchanges_ = &exchange;
  exchange.begin(*this, id, head);
}

void ClientConnection::on_body(http::StreamId id, base::Buf bytes) noexcept {
  if (Exchange* const exchange = find(id)) exchange->on_request_body(std::move(bytes));
}

void ClientConnection::on_trailers(http::StreamId id,
                                   std::span<const http::Field> fields) noexcept {
  if (Exchange* const exchange = find(id)) exchange->on_request_trailers(fields);
}

void ClientConnection::on_end(http::StreamId id) noexcept {
  if (Exchange* const exchange = find(id)) exchange->on_request_end();
}

void ClientConnection::on_reset(http::StreamId id, const http::Reset& /*reset*/) noexcept {
  if (Exchange* const exchange = find(id)) exchange->on_client_gone();
}

void ClientConnection::on_writable(http::StreamId id) noexcept {
  if (Exchange* const exchange = find(id)) exchange->on_client_writable();
}

void ClientConnection::on_output(base::Buf bytes) noexcept { stream_->write(std::move(bytes)); }

void ClientConnection::on_credit(std::size_t bytes) noexcept { stream_->grant(bytes); }

void ClientConnection::on_pending() noexcept {
  pending_ = true;
  core_.deferred.add(*this);
}

void ClientConnection::on_refused(const http::Reset& reset) noexcept {
  core_.metrics.bad_requests.add(1);
  core_.metrics.answers[static_cast<std::size_t>(reset.status / 100) % 6].add(1);
}

void ClientConnection::on_close(http::Close how) noexcept {
  if (state_ != State::kOpen) return;
  if (how == http::Close::kLinger) {
    begin_linger();
  } else {
    state_ = State::kDead;
    core_.deferred.add(*this);
  }
}

http::Room ClientConnection::room(std::size_t bytes) noexcept {
  auto slab = core_.reactor.slab(bytes);
  char* const text = slab.text();
  const auto capacity = slab.capacity();
  return {std::move(slab).take(capacity), text};
}

}  // namespace steelyard::proxy
