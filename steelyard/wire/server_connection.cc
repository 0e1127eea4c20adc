#include "steelyard/wire/server_connection.h"

#include <utility>

#include "steelyard/http/rewrite.h"

namespace steelyard::wire {
namespace {

constexpr base::Duration kLinger = std::chrono::seconds(2);  // reactor.h, R8
constexpr std::size_t kLingerBytes = std::size_t{64} << 10;

// Head and body in one piece of storage: one copy, two parts.
base::Buf write_out(const Response& response, std::size_t& head_size) {
  std::string out = "HTTP/1.1 " + std::to_string(response.status) + " ";
  out += http::reason_phrase(response.status);
  out += "\r\n";
  for (const Header& header : response.headers) out += header.name + ": " + header.value + "\r\n";
  if (response.status != 204 && response.status != 304) {
    out += "Content-Length: " + std::to_string(response.body.size()) + "\r\n";
  }
  out += "\r\n";
  head_size = out.size();
  out += response.body;
  return base::Buf::heap_copy(out);
}

}  // namespace

ServerConnection::ServerConnection(ServerCore& core, std::uint32_t slot)
    : core_(&core), slot_(slot), timer_(core.reactor().timer(*this)) {}

void ServerConnection::begin(io::Fd socket, const base::Address& peer) {
  phase_ = Phase::kIdle;
  idle_since_ = core_->reactor().now();
  more_ = peer_ended_ = false;
  close_.reset();
  peer_ = peer;
  stream_ = core_->reactor().adopt(std::move(socket), *this);
  codec_ = http::make_http1_server(core_->pool(), *this);
  codec_->start();
  timer_->at(core_->reactor().now() + core_->options().idle_timeout);
}

template <typename F>
void ServerConnection::with_codec(F work) noexcept {
  if (std::exchange(busy_, true)) {  // inside an event of the codec: the outer call settles
    work();
    return;
  }
  work();
  while (std::exchange(more_, false)) codec_->resume();
  busy_ = false;
  settle();
}

void ServerConnection::on_bytes(base::Buf bytes) noexcept {
  if (phase_ == Phase::kClosing) return;
  with_codec([&] { codec_->receive(std::move(bytes)); });
}

void ServerConnection::on_end() noexcept {
  peer_ended_ = true;
  if (phase_ == Phase::kClosing) {
    if (stream_->unsent() == 0) timer_->at(core_->reactor().now());
    return;
  }
  with_codec([&] { codec_->receive_end(); });
}

void ServerConnection::on_sent(std::size_t) noexcept {
  if (phase_ == Phase::kIdle) {
    timer_->at(core_->reactor().now() + core_->options().idle_timeout);
  } else if (phase_ == Phase::kClosing) {
    const bool over = peer_ended_ && stream_->unsent() == 0;
    timer_->at(core_->reactor().now() + (over ? base::Duration::zero() : kLinger));
  }
}

void ServerConnection::on_failed(base::Error) noexcept { release(); }

void ServerConnection::on_time() noexcept {
  switch (phase_) {
    case Phase::kFree:
    case Phase::kHandling:
      return;
    case Phase::kClosing:
      release();
      return;
    case Phase::kIdle:
      if (stream_->unsent() > 0) {  // a reader that makes no progress
        release();
      } else {
        with_codec([&] { codec_->drain(); });
      }
      return;
    case Phase::kReceiving:
      with_codec([&] {
        codec_->refuse(408, "the head did not come in time");
        codec_->reset(id_, http::Why::kCancelled);
      });
      return;
  }
}

void ServerConnection::on_head(http::StreamId id, const http::Head& head) noexcept {
  id_ = id;
  request_.method = head.method_text;
  request_.target = head.path.front() == '?' ? "/" : "";
  request_.target += head.path;
  request_.host = head.authority;
  request_.headers.clear();
  for (const http::Field& field : head.fields) {
    if (field.drop || field.id == http::FieldId::kHost || field.id == http::FieldId::kContentLength)
      continue;
    request_.headers.push_back({std::string(field.name), std::string(field.value)});
  }
  request_.body.clear();
  request_.peer = peer_;
  if (head.expect_continue) {
    http::OutHead go_on{base::Buf::of_static("HTTP/1.1 100 Continue\r\n\r\n"), head.method, 100};
    codec_->send_head(id, std::move(go_on));
  }
}

void ServerConnection::on_body(http::StreamId id, base::Buf bytes) noexcept {
  request_.body += bytes.text();  // the codec keeps the cap
  codec_->grant(id, bytes.size());
}

void ServerConnection::on_end(http::StreamId) noexcept {
  phase_ = Phase::kHandling;
  timer_->cancel();
  core_->handle(request_, slot_, ++ticket_);
}

void ServerConnection::on_reset(http::StreamId, const http::Reset&) noexcept { ++ticket_; }

http::Room ServerConnection::room(std::size_t bytes) noexcept {
  io::Slab slab = core_->reactor().slab(bytes);
  char* const text = slab.text();
  return {std::move(slab).take(bytes), text};
}

void ServerConnection::answer(std::uint64_t ticket, Response response) noexcept {
  if (!waits(ticket)) return;
  phase_ = Phase::kIdle;
  ++ticket_;
  with_codec([&] {
    std::size_t head_size = 0;
    const base::Buf all = write_out(response, head_size);
    http::OutHead head{all.share(0, head_size), http::Method::kOther, response.status,
                       http::Body::kLength, response.body.size()};
    codec_->send_head(id_, std::move(head));
    codec_->send_body(id_, all.share(head_size, response.body.size()));
    codec_->send_end(id_);
  });
}

void ServerConnection::abort(std::uint64_t ticket) noexcept {
  if (!waits(ticket)) return;
  ++ticket_;
  with_codec([&] { codec_->reset(id_, http::Why::kCancelled); });
}

void ServerConnection::drain() noexcept {
  if (phase_ != Phase::kClosing) with_codec([&] { codec_->drain(); });
}

void ServerConnection::settle() noexcept {
  if (phase_ == Phase::kFree || phase_ == Phase::kClosing) return;
  if (!close_) {
    set_phase();
  } else if (*close_ == http::Close::kAbort) {
    release();
  } else {
    phase_ = Phase::kClosing;
    ++ticket_;
    stream_->end_write();
    stream_->grant(kLingerBytes);
    const bool over = peer_ended_ && stream_->unsent() == 0;
    timer_->at(core_->reactor().now() + (over ? base::Duration::zero() : kLinger));
  }
}

void ServerConnection::set_phase() noexcept {
  if (phase_ == Phase::kHandling) return;
  const bool idle = codec_->idle();
  if (phase_ == Phase::kReceiving && !idle) return;  // one deadline for the whole request
  phase_ = idle ? Phase::kIdle : Phase::kReceiving;
  if (idle) idle_since_ = core_->reactor().now();
  const ServerOptions& options = core_->options();
  timer_->at(core_->reactor().now() + (idle ? options.idle_timeout : options.head_timeout));
}

void ServerConnection::release() noexcept {
  if (phase_ == Phase::kFree) return;
  phase_ = Phase::kFree;
  ++ticket_;
  timer_->cancel();
  stream_.reset();
  codec_.reset();
  core_->gone(slot_);
}

}  // namespace steelyard::wire
