#include "steelyard/proxy/node_connection.h"

#include <charconv>
#include <optional>

#include "steelyard/proxy/core.h"

namespace steelyard::proxy {
namespace {

constexpr base::Duration kCrossing = std::chrono::seconds(1);  // guess: a FIN that met our request

// N of `Keep-Alive: timeout=N, …`, in seconds.
std::optional<base::Duration> keep_alive_of(const http::Head& head) noexcept {
  constexpr std::string_view kKey = "timeout=";
  if (head.clean) return std::nullopt;  // it has no such field
  const http::Field* const field = head.find(http::FieldId::kKeepAlive);
  if (field == nullptr) return std::nullopt;
  const auto at = field->value.find(kKey);
  if (at == std::string_view::npos) return std::nullopt;
  const char* const begin = field->value.data() + at + kKey.size();
  std::uint32_t seconds = 0;
  const auto read = std::from_chars(begin, field->value.data() + field->value.size(), seconds);
  if (read.ec != std::errc()) return std::nullopt;
  return std::chrono::seconds(seconds);
}

// Only what the node did, or the way to it, says something about the node; a full descriptor table
// does not.
base::Origin origin_of(base::Code code) noexcept {
  switch (code) {
    case base::Code::kRefused:
    case base::Code::kReset:
    case base::Code::kUnreachable:
    case base::Code::kTimeout:
    case base::Code::kProtocol:
      return base::Origin::kNode;
    default:
      return base::Origin::kUs;
  }
}

base::Error error_of(const http::Reset& reset) noexcept {
  base::Error error;
  error.origin = base::Origin::kNode;
  error.code = base::Code::kReset;
  if (reset.why == http::Why::kProtocol) error.code = base::Code::kProtocol;
  if (reset.why == http::Why::kLimit) error.code = base::Code::kLimit;
  error.retry_safe = reset.why == http::Why::kRefused;
  return error;
}

}  // namespace

void NodeConnection::connect(model::NodeRef node, const base::Address& address,
                             base::Duration timeout) {
  node_ = node;
  address_ = address;
  state_ = State::kConnecting;
  pending_ = ended_ = false;
  requests_ = 0;
  born_ = asked_ = core_.reactor.now();
  codec_ = core_.client_codec(*this);
  stream_ = core_.reactor.connect(address, {.timeout = timeout}, *this);
}

bool NodeConnection::open(Attempt& attempt) noexcept {
  if (state_ != State::kConnecting) {
    const auto stream = codec_->open();
    if (stream == http::StreamId::kNone) return false;
    state_ = State::kOpen;
    attempt.stream = stream;
    attempt.reused = requests_ > 0;
    begun();
  }
  attempt.connection = this;
  attempt.next = attempts_;
  attempts_ = &attempt;
  return true;
}

void NodeConnection::begun() noexcept {
  ++requests_;
  asked_ = core_.reactor.now();
}

bool NodeConnection::worn(const PoolOptions& options, base::TimePoint now) const noexcept {
  return (options.max_age > base::Duration::zero() && now - born_ >= options.max_age) ||
         (options.max_requests > 0 && requests_ >= options.max_requests);
}

Attempt* NodeConnection::find(http::StreamId id) noexcept {
  for (Attempt* at = attempts_; at != nullptr; at = at->next) {
    if (at->stream == id) return at;
  }
  return nullptr;
}

void NodeConnection::forget(Attempt& attempt) noexcept {
  for (Attempt** at = &attempts_; *at != nullptr; at = &(*at)->next) {
    if (*at != &attempt) continue;
    *at = attempt.next;
    break;
  }
  attempt.connection = nullptr;
  attempt.next = nullptr;
  attempt.stream = http::StreamId::kNone;
  attempt.window.close(core_.widened);
  core_.deferred.add(*this);
}

void NodeConnection::cancel(Attempt& attempt) noexcept {
  const auto stream = attempt.stream;
  forget(attempt);
  if (state_ == State::kConnecting) {
    if (attempts_ == nullptr) kill();
  } else if (stream != http::StreamId::kNone) {
    codec_->reset(stream, http::Why::kCancelled);
  }
}

void NodeConnection::silent(Attempt& attempt) noexcept {
  core_.pools.distrust(node_, asked_);
  cancel(attempt);
}

void NodeConnection::close_idle() noexcept {
  state_ = State::kOpen;
  codec_->drain();
  if (!codec_->closed()) kill();
}

void NodeConnection::kill() noexcept {
  if (state_ == State::kFree || state_ == State::kDead) return;
  leave_lists();
  state_ = State::kDead;
  core_.deferred.add(*this);
}

void NodeConnection::leave_lists() noexcept {
  if (state_ == State::kPooled) core_.pools.remove(*this);
  NodeConnections::leave(*this);
}

void NodeConnection::settle() noexcept {
  if (state_ == State::kDead) {
    fail_all({base::Code::kReset, base::Origin::kNode, false, {}});
    leave_lists();
    stream_.reset();
    codec_.reset();
    state_ = State::kFree;
    core_.free(*this);
    return;
  }
  resume(*codec_);
  if (state_ != State::kOpen || attempts_ != nullptr) return;
  // What was not yet sent belongs to an exchange that is over: the next one must not queue behind
  // it.
  const auto* const config = core_.config();
  if (codec_->can_open() && stream_->unsent() == 0 && config != nullptr && !core_.draining() &&
      core_.pools.put(*this, config->pool, core_.reactor.now())) {
    state_ = State::kPooled;
    idle_since_ = core_.reactor.now();
    core_.due_by(core_.pools.next());
    return;
  }
  close_idle();
}

void NodeConnection::fail_all(const base::Error& error) noexcept {
  while (Attempt* const attempt = attempts_) {
    forget(*attempt);
    attempt->exchange->on_failed(*attempt, error, false);
  }
}

// The answer goes through its exchange to the client.
void NodeConnection::on_soon(unsigned step) const noexcept {
  static_assert(kSoonSteps == 4, "a step for each pointer on the way");
  if (step == 3) prefetch_rest();
  if (attempts_ == nullptr) return;
  if (step == 3) return base::prefetch(attempts_);
  const Exchange* const exchange = attempts_->exchange;
  if (step == 2) return base::prefetch(exchange);
  const ClientConnection* const client = exchange->client();
  if (client == nullptr) return;
  step == 1 ? base::prefetch(client) : client->prefetch_rest();
}

void NodeConnection::on_open(const io::PeerInfo& /*peer*/) noexcept {
  state_ = State::kOpen;
  core_.metrics.connect_time.add(core_.reactor.now() - born_);
  codec_->start();
  for (Attempt* at = attempts_; at != nullptr;) {
    Attempt& attempt = *at;
    at = at->next;
    attempt.stream = codec_->open();
    begun();
    attempt.exchange->on_ready(attempt);
  }
  core_.deferred.settle();
}

void NodeConnection::on_bytes(base::Buf bytes) noexcept {
  if (state_ == State::kPooled) {
    kill();  // nobody asked: the next request must not get it
  } else if (state_ == State::kOpen) {
    codec_->receive(std::move(bytes));
  }
  core_.deferred.settle();
}

void NodeConnection::on_end() noexcept {
  ended_ = true;
  if (state_ == State::kLingering) {
    NodeConnections::leave(*this);
    core_.closing_nodes.push(*this, core_.reactor.now());
  } else if (state_ != State::kDead) {
    if (state_ == State::kPooled) died_idle();
    codec_->receive_end();
  }
  core_.deferred.settle();
}

void NodeConnection::on_sent(std::size_t /*bytes*/) noexcept {
  for (Attempt* at = attempts_; at != nullptr; at = at->next) at->exchange->on_node_writable();
  core_.deferred.settle();
}

// The node closed it while it was idle, or as a request was on its way.
void NodeConnection::died_idle() noexcept {
  core_.metrics.pool_died.add(1);
  core_.pools.closed_by_node(node_, idle_since_, core_.reactor.now());
}

void NodeConnection::on_failed(base::Error error) noexcept {
  const bool connecting = state_ == State::kConnecting;
  if (state_ == State::kPooled) {
    died_idle();
    core_.pools.remove(*this);
  }
  state_ = State::kDead;
  core_.deferred.add(*this);
  if (connecting) {
    error.origin = origin_of(error.code);
    error.retry_safe = true;  // not a byte was sent
    fail_all(error);
  } else {
    codec_->receive_failed();
  }
  core_.deferred.settle();
}

void NodeConnection::on_head(http::StreamId id, const http::Head& head) noexcept {
  if (const auto keep = keep_alive_of(head)) core_.pools.told(node_, *keep);
  if (Attempt* const at = find(id)) at->exchange->on_head(*at, head);
}

void NodeConnection::on_body(http::StreamId id, base::Buf bytes) noexcept {
  if (Attempt* const at = find(id)) at->exchange->on_body(*at, std::move(bytes));
}

void NodeConnection::on_trailers(http::StreamId id, std::span<const http::Field> fields) noexcept {
  if (Attempt* const at = find(id)) at->exchange->on_trailers(*at, fields);
}

void NodeConnection::on_end(http::StreamId id) noexcept {
  if (Attempt* const at = find(id)) at->exchange->on_end(*at);
}

void NodeConnection::on_reset(http::StreamId id, const http::Reset& reset) noexcept {
  Attempt* const at = find(id);
  if (at == nullptr) return;
  if (reset.why == http::Why::kClosed && at->reused && core_.reactor.now() - asked_ < kCrossing) {
    died_idle();
  }
  forget(*at);
  const bool nothing = reset.why == http::Why::kClosed || reset.why == http::Why::kRefused;
  at->exchange->on_failed(*at, error_of(reset), !nothing);
}

void NodeConnection::on_writable(http::StreamId id) noexcept {
  if (Attempt* const at = find(id)) at->exchange->on_node_writable();
}

void NodeConnection::on_refused(const http::Reset& /*reset*/, std::string_view /*head*/) noexcept {}

void NodeConnection::on_close(http::Close how) noexcept {
  if (state_ == State::kDead) return;
  if (how == http::Close::kAbort || attempts_ != nullptr) {
    kill();
    return;
  }
  leave_lists();
  state_ = State::kLingering;
  stream_->end_write();
  if (ended_) {
    core_.closing_nodes.push(*this, core_.reactor.now());
  } else {
    core_.lingering_nodes.push(*this, core_.reactor.now());
    core_.due_by(core_.reactor.now() + kLingerTime);
  }
}

}  // namespace steelyard::proxy
