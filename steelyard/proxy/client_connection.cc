#include "steelyard/proxy/client_connection.h"

#include <algorithm>
#include <limits>

#include "steelyard/proxy/core.h"
#include "steelyard/proxy/refusal.h"

namespace steelyard::proxy {

namespace {

constexpr std::string_view kBusyHead =
    "HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain\r\nContent-Length: 45\r\n"
    "Retry-After: 1\r\n\r\n";
constexpr std::string_view kBusyText = "503 the balancer is at one of its own limits\n";
static_assert(kBusyText.size() == 45);

constexpr unsigned kCutLooks = static_cast<unsigned>(kLingerTime / kCutLook);

}  // namespace

void ClientConnection::adopt(io::Fd socket, const base::Address& peer, bool counted,
                             Listening& listening) {
  listening_ = &listening;
  ++listening.connections;
  state_ = State::kOpen;
  pending_ = ended_ = receiving_ = waits_ = brief_ = cut_ = false;
  looks_ = 0;
  unconfirmed_ = std::numeric_limits<std::size_t>::max();
  counted_ = counted;
  discarded_ = credit_ = 0;
  received_ = written_ = 0;
  lost_ = request::Reason::kClientGone;
  requests_ = 0;
  peer_ = peer;
  ip_size_ = static_cast<std::uint8_t>(peer.write_ip(ip_.data()));
  codec_ = core_.server_codec(*this);
  core_.clients.push(*this, core_.reactor.now());
  core_.metrics.accepted.add(1);
  core_.metrics.clients.set(core_.clients.size());
  body_.stop();
  answer_.stop();
  stream_ = core_.reactor.adopt(std::move(socket), *this);
  place();
}

// 0: as many as it likes.
std::uint32_t ClientConnection::most_requests() const noexcept {
  const auto* const config = core_.config();
  return config != nullptr ? config->clients.max_requests : 0;
}

bool ClientConnection::leaving() const noexcept {
  if (core_.draining() || listening_->removed || !listening_->open()) return true;
  const auto most = most_requests();
  return (most > 0 && requests_ >= most) || core_.overload.stage() >= Stage::kClose;
}

std::size_t ClientConnection::held() const noexcept {
  std::size_t sum = unsent() + codec_->held();
  for (const Exchange* at = exchanges_; at != nullptr; at = at->next) sum += at->held();
  return sum;
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
  receiving_ = waits_ = false;
  core_.deferred.add(*this);
}

void ClientConnection::abort(http::StreamId stream) noexcept {
  cut_ = true;
  codec_->reset(stream, http::Why::kTruncated);
}

// Into the list that fits what it waits for now. A wait that goes on keeps its start, so that a
// head that trickles in is not given more time with each byte.
void ClientConnection::place() noexcept {
  Clients* want = nullptr;
  base::Duration wait{};
  if (state_ == State::kLingering) {
    if (stream_->unsent() > 0) {
      if (!answer_.running()) answer_.start(1);
      want = &core_.paced;
      wait = Pace::kStep;
    } else if (cut_ && looks_ <= kCutLooks && stream_->unconfirmed() > 0) {
      want = &core_.cut;
      wait = kCutLook;
    } else {
      want = ended_ || brief_ || cut_ ? &core_.closing : &core_.lingering;
      wait = kLingerTime;
    }
  } else if (state_ == State::kOpen && exchanges_ == nullptr) {
    const bool between = requests_ > 0 && codec_->idle();
    want = between ? &core_.idle : &core_.waiting_head;
    wait = between ? core_.idle_wait() : core_.head_wait();
  } else if (state_ == State::kOpen && (receiving_ || answer_.running())) {
    want = &core_.paced;
    wait = Pace::kStep;
  }
  if (want == nullptr) return Clients::leave(*this);
  if (want->holds(*this)) return;
  Clients::leave(*this);
  want->push(*this, core_.reactor.now());
  core_.due_by(core_.reactor.now() + wait);
}

void ClientConnection::look_at_cut() noexcept {
  const auto left = stream_->unconfirmed();
  looks_ = left < unconfirmed_ ? 0 : looks_ + 1;
  unconfirmed_ = left;
}

void ClientConnection::on_due() noexcept {
  if (state_ == State::kLingering) {
    if (unsent() > 0) {
      check_pace();
    } else {
      cut_ ? look_at_cut() : kill();
    }
  } else if (exchanges_ != nullptr) {
    check_pace();
  } else if (codec_->idle()) {
    core_.metrics.idle_closed.add(1);
    requests_ > 0 ? codec_->drain() : codec_->refuse(408, "no head came");
  } else {
    codec_->refuse(408, "the head did not come in time");
  }
  core_.deferred.add(*this);
}

// Every step while a body comes in or an answer waits for the client.
void ClientConnection::check_pace() noexcept {
  const auto* const config = core_.config();
  const ClientOptions options = config != nullptr ? config->clients : ClientOptions{};
  const auto rate = options.min_rate.count;
  if (receiving_ && body_.behind(rate, credit_ == 0) > Pace::kGrace) {
    core_.metrics.slow_bodies.add(1);
    exchanges_->expire(request::Reason::kClientTimeout);
    return;
  }
  if (unsent() == 0) {
    answer_.stop();
  } else if (answer_.running() && answer_.behind(rate, false) >= options.write_timeout) {
    core_.metrics.slow_readers.add(1);
    kill(request::Reason::kClientTimeout);
  }
}

void ClientConnection::close_if_idle() noexcept {
  if (state_ != State::kOpen || exchanges_ != nullptr || !codec_->idle()) return;
  codec_->drain();
  core_.deferred.add(*this);
}

void ClientConnection::kill(request::Reason why) noexcept {
  if (state_ == State::kFree || state_ == State::kDead) return;
  lost_ = why;
  state_ = State::kDead;
  Clients::leave(*this);
  core_.deferred.add(*this);
  codec_->receive_failed();
}

void ClientConnection::shed() noexcept {
  if (state_ == State::kOpen && exchanges_ == nullptr && !codec_->idle()) {
    core_.metrics.answers[0].add(1);
    log_refusal({http::Why::kLimit, 503, "broken off before its head was whole"}, {});
  }
  kill(request::Reason::kOverload);
}

void ClientConnection::settle() noexcept {
  if (state_ == State::kDead) {
    while (exchanges_ != nullptr) exchanges_->on_client_gone({}, lost_);
    Clients::leave(*this);
    AllClients::leave(*this);
    // FIN and close in one: what the kernel has is delivered.
    if (brief_ && unsent() == 0) stream_->end_write();
    stream_.reset();
    codec_.reset();
    state_ = State::kFree;
    --listening_->connections;
    if (counted_) core_.addresses().leave(peer_);
    core_.metrics.closed.add(1);
    core_.metrics.clients.set(core_.clients.size());
    core_.free(*this);
    return;
  }
  resume(*codec_);
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
  received_ += bytes.size();
  if (state_ == State::kOpen) {
    credit_ -= std::min(credit_, bytes.size());
    body_.moved(bytes.size());
    if (exchanges_ == nullptr && codec_->idle()) asked_ = core_.reactor.now();
    codec_->receive(std::move(bytes));
    if (core_.overload.stage() >= Stage::kRefuse && exchanges_ == nullptr) refuse_part();
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
  // Only when the kernel's buffer is full is anything left.
  if (stream_->unsent() > 0) {
    answer_waits();
    answer_.moved(bytes);
  }
  for (Exchange* at = exchanges_; at != nullptr; at = at->next) at->on_client_writable();
  if (state_ == State::kLingering) core_.deferred.add(*this);
  core_.deferred.settle();
}

void ClientConnection::on_failed(base::Error /*error*/) noexcept {
  kill();
  core_.deferred.settle();
}

void ClientConnection::on_head(http::StreamId id, const http::Head& head) noexcept {
  if (++requests_ == most_requests()) core_.metrics.used_up.add(1);
  Clients::leave(*this);
  if (core_.overload.stage() >= Stage::kRefuse) return refuse(id, head);
  waits_ = head.expect_continue;
  if (head.body != http::Body::kNone && !waits_) begin_receiving();
  if (leaving()) codec_->drain();
  Exchange& exchange = core_.new_exchange();
  exchange.next = exchanges_;
  exchanges_ = &exchange;
  exchange.begin(*this, id, head);
}

void ClientConnection::answer_waits() noexcept {
  if (answer_.running()) return;
  answer_.start(1);
  core_.deferred.add(*this);
}

void ClientConnection::begin_receiving() noexcept {
  waits_ = false;
  receiving_ = true;
  body_.start(20);
  core_.deferred.add(*this);
}

// Under pressure no large head is collected: it would be refused at its end. A usual one may come
// to its end, and is then answered as its method asks.
void ClientConnection::refuse_part() noexcept {
  constexpr std::size_t kUsual = 2048;
  if (state_ != State::kOpen || codec_->held() <= kUsual) return;
  codec_->refuse(503, "overload");
}

void ClientConnection::count_overload() noexcept {
  core_.metrics.overload_refused.add(1);
  core_.metrics.answers[5].add(1);
  core_.metrics.own_answers[static_cast<std::size_t>(request::Reason::kOverload)].add(1);
}

void ClientConnection::refuse(http::StreamId id, const http::Head& head) noexcept {
  count_overload();
  const auto before = written_;
  codec_->drain();
  http::OutHead out;
  out.bytes = base::Buf::of_static(kBusyHead);
  out.status = 503;
  out.body = http::Body::kLength;
  out.length = kBusyText.size();
  codec_->send_head(id, std::move(out));
  if (head.method != http::Method::kHead) {
    codec_->send_body(id, base::Buf::of_static(kBusyText));
  }
  codec_->send_end(id);
  const bool with_text = head.method != http::Method::kHead;
  const auto told = static_cast<std::uint16_t>(written_ - before);
  log_refusal({http::Why::kLimit, 503, "overload", told,
               static_cast<std::uint16_t>(with_text ? kBusyText.size() : 0)},
              head.raw == nullptr ? std::string_view() : head.raw->text());
}

void ClientConnection::on_body(http::StreamId id, base::Buf bytes) noexcept {
  if (waits_) begin_receiving();
  if (Exchange* const exchange = find(id)) exchange->on_request_body(std::move(bytes));
}

void ClientConnection::on_trailers(http::StreamId id,
                                   std::span<const http::Field> fields) noexcept {
  if (Exchange* const exchange = find(id)) exchange->on_request_trailers(fields);
}

void ClientConnection::on_end(http::StreamId id) noexcept {
  receiving_ = waits_ = false;
  if (Exchange* const exchange = find(id)) exchange->on_request_end();
}

void ClientConnection::on_reset(http::StreamId id, const http::Reset& reset) noexcept {
  receiving_ = waits_ = false;
  if (reset.status != 0) count_refusal(reset);
  if (Exchange* const exchange = find(id)) exchange->on_client_gone(reset, lost_);
}

void ClientConnection::on_writable(http::StreamId id) noexcept {
  if (Exchange* const exchange = find(id)) exchange->on_client_writable();
}

void ClientConnection::on_refused(const http::Reset& reset, std::string_view head) noexcept {
  if (reset.status == 503) {
    count_overload();
  } else {
    count_refusal(reset);
    core_.metrics.answers[WorkerMetrics::class_of(reset.status)].add(1);
    core_.metrics.own_answers[static_cast<std::size_t>(reason_of(reset))].add(1);
  }
  log_refusal(reset, head);
}

// A request that never was an exchange.
void ClientConnection::log_refusal(const http::Reset& reset, std::string_view head) noexcept {
  if (!core_.logging()) return;
  const auto end = head.find("\r\n\r\n");  // pipelined ones behind it are not its own
  if (end != std::string_view::npos) head = head.substr(0, end + 4);
  AccessFacts facts;
  facts.ended = core_.reactor.now();
  facts.began = take_asked(facts.ended);
  facts.client = peer_;
  facts.listener = listening_->address();
  facts.head = head;
  facts.version.reset();
  facts.bytes_in = head.size();
  facts.status = reset.told > 0 ? reset.status : AccessFacts::kNothing;
  facts.bytes_out = reset.told;
  facts.body_bytes_out = reset.told_body;
  facts.reason = request::describe(reason_of(reset)).word;
  facts.detail = reset.text;
  core_.log(facts);
}

void ClientConnection::count_refusal(const http::Reset& reset) noexcept {
  constexpr auto& known = WorkerMetrics::kRefusals;
  const auto at = std::find(known.begin() + 1, known.end(), reset.status);
  const auto place = at == known.end() ? 0 : static_cast<std::size_t>(at - known.begin());
  core_.metrics.bad_requests.add(1);
  core_.metrics.refusals[place].add(1);
}

std::string_view ClientConnection::date() noexcept { return core_.date(); }

void ClientConnection::on_credit(std::size_t bytes) noexcept {
  credit_ += bytes;
  Connection::on_credit(bytes);
}

void ClientConnection::on_close(http::Close how) noexcept {
  if (state_ != State::kOpen) return;
  if (how == http::Close::kLinger) {
    begin_linger();
  } else if (how == http::Close::kFlush) {
    state_ = State::kLingering;
    brief_ = true;
    core_.deferred.add(*this);
  } else {
    state_ = cut_ ? State::kLingering : State::kDead;
    core_.deferred.add(*this);
  }
}

}  // namespace steelyard::proxy
