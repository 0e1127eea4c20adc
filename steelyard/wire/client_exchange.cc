#include "steelyard/wire/client_exchange.h"

#include <utility>

#include "steelyard/http/rewrite.h"

namespace steelyard::wire {
namespace {

constexpr base::Duration kPoliteClose =
    std::chrono::seconds(2);  // waiting for the peer's FIN (reactor.h, R8)

base::Error node_error(base::Code code, std::string text) {
  return {code, base::Origin::kNode,
          code == base::Code::kRefused || code == base::Code::kUnreachable, std::move(text)};
}

std::string request_head(const base::Address& to, const Request& request) {
  std::string out = request.method + " " + request.target +
                    " HTTP/1.1\r\nHost: " + (request.host.empty() ? to.to_text() : request.host) +
                    "\r\nConnection: close\r\n";
  for (const Header& header : request.headers) out += header.name + ": " + header.value + "\r\n";
  if (!request.body.empty())
    out += "Content-Length: " + std::to_string(request.body.size()) + "\r\n";
  return out + "\r\n";
}

}  // namespace

ClientExchange::ClientExchange(ClientCore& core, std::uint32_t slot)
    : core_(&core), slot_(slot), timer_(core.reactor().timer(*this)) {}

void ClientExchange::start(const base::Address& to, base::Duration timeout) {
  ++core_->pending;
  state_ = State::kAsking;
  whole_ = peer_ended_ = false;
  error_.reset();
  // The connect's own deadline is ours: one timer tells it all.
  stream_ = core_->reactor().connect(
      to, io::ConnectOptions{.timeout = timeout + std::chrono::seconds(1)}, *this);
  timer_->at(core_->reactor().now() + timeout);
}

void ClientExchange::begin_send(const base::Address& to, const Request& request,
                                const CallOptions& options, Client::Done done) {
  done_ = std::move(done);
  max_body_ = options.max_body;
  want_headers_ = options.want_headers;
  method_ = http::method_of(request.method);
  head_ = request_head(to, request);
  body_ = request.body;
  response_ = {};
  start(to, options.timeout);
}

void ClientExchange::begin_open(const base::Address& to, base::Duration timeout,
                                Client::Opened done) {
  opened_ = std::move(done);
  start(to, timeout);
}

void ClientExchange::on_open(const io::PeerInfo&) noexcept {
  if (opened_) {
    const Client::Opened done = std::move(opened_);
    release();
    done({});
    return;
  }
  codec_ = http::make_http1_client(core_->pool(), *this);
  codec_->start();
  id_ = codec_->open();
  http::OutHead head{base::Buf::heap_copy(head_), method_, 0, http::Body::kNone, body_.size()};
  if (!body_.empty()) head.body = http::Body::kLength;
  codec_->send_head(id_, std::move(head));
  if (!body_.empty()) codec_->send_body(id_, base::Buf::heap_copy(body_));
  codec_->send_end(id_);
}

void ClientExchange::on_bytes(base::Buf bytes) noexcept {
  if (state_ == State::kClosing) return;  // thrown away; no more credit is given
  codec_->receive(std::move(bytes));
  settle();
}

void ClientExchange::on_end() noexcept {
  peer_ended_ = true;
  if (state_ == State::kClosing) {
    if (stream_->unsent() == 0) timer_->at(core_->reactor().now());
    return;
  }
  if (codec_ == nullptr) {
    fail(node_error(base::Code::kReset, "the connection was closed"));
    return;
  }
  codec_->receive_end();
  settle();
}

void ClientExchange::on_failed(base::Error error) noexcept {
  if (state_ == State::kClosing) {
    release();
    return;
  }
  error.origin = base::Origin::kNode;
  fail(std::move(error));
}

void ClientExchange::on_time() noexcept {
  if (state_ == State::kClosing) {
    release();
  } else if (state_ == State::kAsking) {
    fail(node_error(base::Code::kTimeout, "no answer in time"));
  }
}

void ClientExchange::on_head(http::StreamId, const http::Head& head) noexcept {
  if (head.is_interim()) return;
  response_.status = head.status;
  if (want_headers_) {
    for (const http::Field& field : head.fields) {
      if (!field.drop)
        response_.headers.push_back({std::string(field.name), std::string(field.value)});
    }
  }
  if (head.body == http::Body::kLength && head.length > max_body_) {
    error_ = node_error(base::Code::kLimit, "the answer is too large");
  }
}

void ClientExchange::on_body(http::StreamId id, base::Buf bytes) noexcept {
  if (error_) return;
  if (response_.body.size() + bytes.size() > max_body_) {
    error_ = node_error(base::Code::kLimit, "the answer is too large");
    return;
  }
  response_.body += bytes.text();
  codec_->grant(id, bytes.size());
}

void ClientExchange::on_reset(http::StreamId, const http::Reset& reset) noexcept {
  const bool cut = reset.why == http::Why::kClosed || reset.why == http::Why::kTruncated;
  error_ = node_error(cut                              ? base::Code::kReset
                      : reset.why == http::Why::kLimit ? base::Code::kLimit
                                                       : base::Code::kProtocol,
                      std::string(reset.text));
}

void ClientExchange::on_output(base::Buf bytes) noexcept {
  if (stream_ != nullptr) stream_->write(std::move(bytes));
}

void ClientExchange::on_credit(std::size_t bytes) noexcept {
  if (stream_ != nullptr) stream_->grant(bytes);
}

http::Room ClientExchange::room(std::size_t bytes) noexcept {
  io::Slab slab = core_->reactor().slab(bytes);
  char* const text = slab.text();
  return {std::move(slab).take(bytes), text};
}

void ClientExchange::settle() noexcept {
  if (error_) {
    fail(*std::exchange(error_, std::nullopt));
  } else if (whole_) {
    succeed();
  }
}

void ClientExchange::fail(base::Error error) noexcept {
  const Client::Done done = std::move(done_);
  const Client::Opened opened = std::move(opened_);
  release();
  if (done)
    done(std::move(error));
  else if (opened)
    opened(std::move(error));
}

void ClientExchange::succeed() noexcept {
  const Client::Done done = std::move(done_);
  done_ = nullptr;
  Response response = std::move(response_);
  --core_->pending;
  state_ = State::kClosing;
  codec_.reset();
  stream_->end_write();
  timer_->at(core_->reactor().now() + (peer_ended_ ? base::Duration::zero() : kPoliteClose));
  done(std::move(response));
}

void ClientExchange::release() noexcept {
  if (state_ == State::kFree) return;
  if (state_ == State::kAsking) --core_->pending;
  state_ = State::kFree;
  ++generation_;
  timer_->cancel();
  stream_.reset();
  codec_.reset();
  done_ = nullptr;
  opened_ = nullptr;
  core_->give_back(slot_);
}

}  // namespace steelyard::wire
