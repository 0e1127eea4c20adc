#include "steelyard/proxy/exchange.h"

#include <charconv>
#include <cstring>

#include "steelyard/http/rewrite.h"
#include "steelyard/proxy/core.h"

namespace steelyard::proxy {

using request::Reason;
using request::Step;

namespace {

// Bodies of idempotent requests up to this size are kept to be sent again: the copy costs less than
// 3 µs (guess).
constexpr std::size_t kRepeat = std::size_t{32} << 10;

}  // namespace

Exchange::Exchange(Core& core) : core_(core), timer_(core.reactor.timer(*this)) {
  for (std::size_t i = 0; i < attempts_.size(); ++i) {
    attempts_[i].exchange = this;
    attempts_[i].index = static_cast<std::uint8_t>(i);
  }
}

// --- the request

void Exchange::reset_facts(const http::Head& head) noexcept {
  began_ = core_.reactor.now();
  facts_ = http::out_facts(head);
  idempotent_ = http::is_idempotent(head.method);
  old_client_ = head.version == http::Version::k10;
  const http::Field* const te = head.find(http::FieldId::kTe);
  takes_trailers_ = head.version == http::Version::k2 ||
                    (te != nullptr && te->value.find("trailers") != std::string_view::npos);
  owed_ = 0;
  body_seen_ = 0;
  status_ = 0;
  answer_ = Answer::kNone;
  request_ended_ = false;
  repeatable_ = true;
}

void Exchange::write_head(const http::Head& head) noexcept {
  http::RequestEdits edits;
  edits.peer_ip = client_->peer_ip();
  edits.trust_forwarded = generation_->config->clients.trust_forwarded;
  if (head.find(http::FieldId::kXRequestId) == nullptr) edits.request_id = core_.next_request_id();
  auto slab = core_.reactor.slab(http::request_bound(head, edits));
  const auto size = http::write_request(head, edits, slab.text());
  head_ = std::move(slab).take(size);
}

void Exchange::begin(ClientConnection& client, http::StreamId stream,
                     const http::Head& head) noexcept {
  client_ = &client;
  stream_ = stream;
  reset_facts(head);
  ++core_.live_exchanges;
  core_.metrics.exchanges.set(core_.live_exchanges);
  const Listening& listening = client.listening();
  generation_ = listening.generation;
  if (generation_ == nullptr) return answer(Reason::kNoRoute);
  ++generation_->users;
  if (head.method == http::Method::kConnect) return answer(Reason::kNotOffered);
  const auto& config = generation_->config->listeners[listening.place];
  const auto at = config.router.match(head.authority, head.path);
  if (!at) return answer(Reason::kNoRoute);
  const Route& route = config.routes[*at];
  upstream_ = route.upstream;
  write_head(head);
  act(rules_.begin(route.policy, idempotent_, 0, place(), began_));
}

request::Place Exchange::place() noexcept {
  return {*core_.record->table, generation_->places[upstream_],
          core_.cursors,        core_.slots,
          core_.options.index,  core_.rng};
}

void Exchange::act(const Step& step) noexcept {
  switch (step.kind) {
    case Step::Kind::kWait:
      break;
    case Step::Kind::kTry:
      if (rules_.tries() > 1) core_.metrics.retries.add(1);
      if (step.fresh) core_.metrics.stale.add(1);
      start(step);
      break;
    case Step::Kind::kAnswer:
      return answer(step.reason);
    case Step::Kind::kAbort:
      return abort();
  }
  arm();
}

void Exchange::start(const Step& step) noexcept {
  Attempt& attempt = attempts_[step.attempt];
  if (attempt.connection != nullptr) attempt.connection->cancel(attempt);
  attempt.reused = false;
  attempt.owed = 0;
  core_.acquire(*step.node, step.fresh, rules_.policy().timeouts.connect, attempt);
}

Attempt* Exchange::carrier() noexcept {
  for (Attempt& attempt : attempts_) {
    if (attempt.ready()) return &attempt;
  }
  return nullptr;
}

void Exchange::on_ready(Attempt& attempt) noexcept {
  rules_.connected(attempt.index, core_.reactor.now());
  hand_over(attempt);
  arm();
}

void Exchange::hand_over(Attempt& attempt) noexcept {
  auto& codec = attempt.connection->codec();
  http::OutHead head = {head_.share(), facts_.method, facts_.status, facts_.body, facts_.length};
  codec.send_head(attempt.stream, std::move(head));
  store_.each([&](base::Buf bytes) { codec.send_body(attempt.stream, std::move(bytes)); });
  if (body_seen_ > 0 && repeatable_ && (!idempotent_ || store_.size() > kRepeat)) cannot_repeat();
  if (request_ended_) {
    send_request_end(attempt);
  } else {
    ask_client();
  }
}

void Exchange::cannot_repeat() noexcept {
  repeatable_ = false;
  store_.clear();
  rules_.set_replayable(false);
}

void Exchange::on_request_body(base::Buf bytes) noexcept {
  const auto size = bytes.size();
  body_seen_ += size;
  owed_ += size;
  rules_.moved(core_.reactor.now());
  const auto expected = facts_.body == http::Body::kLength && facts_.length < BodyStore::kMost
                            ? static_cast<std::size_t>(facts_.length)
                            : 0;
  Attempt* const to = carrier();
  if (to == nullptr) {  // the credit that a stream begins with fits into the store
    if (!store_.add(core_.reactor, bytes.bytes(), expected)) expire();
    return;
  }
  if (repeatable_) {
    const bool keep = idempotent_ && answer_ == Answer::kNone && store_.size() + size <= kRepeat;
    if (!keep || !store_.add(core_.reactor, bytes.bytes(), expected)) cannot_repeat();
  }
  to->connection->codec().send_body(to->stream, std::move(bytes));
  ask_client();
}

void Exchange::on_request_trailers(std::span<const http::Field> fields) noexcept {
  trailers_ = std::make_unique<Trailers>();
  for (const auto& field : fields) {
    if (!field.drop) trailers_->emplace_back(field.name, field.value);
  }
}

void Exchange::on_request_end() noexcept {
  request_ended_ = true;
  rules_.moved(core_.reactor.now());
  if (Attempt* const to = carrier()) send_request_end(*to);
  arm();
}

void Exchange::send_request_end(Attempt& attempt) noexcept {
  auto& codec = attempt.connection->codec();
  if (trailers_ != nullptr) {
    std::vector<http::Field> fields;
    for (const auto& [name, value] : *trailers_) fields.push_back({.name = name, .value = value});
    codec.send_trailers(attempt.stream, fields);
  }
  rules_.sent(attempt.index, core_.reactor.now());
  codec.send_end(attempt.stream);
}

// The client may send more once the node has taken what it sent.
void Exchange::ask_client() noexcept {
  if (owed_ == 0) return;
  Attempt* const to = carrier();
  if (to == nullptr || !to->connection->writable(to->stream)) return;
  client_->codec().grant(stream_, std::exchange(owed_, 0));
}

void Exchange::on_node_writable() noexcept { ask_client(); }

void Exchange::on_client_gone() noexcept {
  if (answer_ == Answer::kNone || answer_ == Answer::kInterim) core_.metrics.answers[0].add(1);
  for (Attempt& attempt : attempts_) cancel(attempt);
  finish();
}

// --- the answer

void Exchange::on_head(Attempt& attempt, const http::Head& head) noexcept {
  if (head.is_interim()) {
    if (head.status == 101) {  // no upgrade was asked for: Upgrade is never passed on
      attempt.connection->cancel(attempt);
      on_failed(attempt, {base::Code::kProtocol, base::Origin::kNode, false, {}}, true);
      return;
    }
    rules_.moved(core_.reactor.now());
    if (old_client_) return;
    // Not tried again from here on; but the final answer is still to come, and may be one of ours.
    if (repeatable_) cannot_repeat();
    forward_head(head);
    answer_ = Answer::kInterim;
    return;
  }
  if (const auto loser = rules_.head(attempt.index, head.status, core_.reactor.now())) {
    cancel(attempts_[*loser]);
  }
  rules_.answered();
  status_ = head.status;
  core_.metrics.answers[static_cast<std::size_t>(status_ / 100) % 6].add(1);
  head_ = {};
  if (repeatable_) cannot_repeat();
  forward_head(head);
  answer_ = Answer::kHead;
  arm();
}

void Exchange::forward_head(const http::Head& head) noexcept {
  http::OutHead out = http::out_facts(head);
  if (head.clean && head.raw != nullptr) {
    out.bytes = head.raw->share();
  } else {
    auto slab = core_.reactor.slab(http::response_bound(head));
    const auto size = http::write_response(head, slab.text());
    out.bytes = std::move(slab).take(size);
  }
  if (client_->leaving()) client_->codec().drain();
  client_->codec().send_head(stream_, std::move(out));
}

void Exchange::on_body(Attempt& attempt, base::Buf bytes) noexcept {
  attempt.owed += bytes.size();
  rules_.moved(core_.reactor.now());
  client_->codec().send_body(stream_, std::move(bytes));
  ask_node(attempt);
}

void Exchange::ask_node(Attempt& attempt) noexcept {
  if (attempt.owed == 0 || !client_->writable(stream_)) return;
  attempt.connection->codec().grant(attempt.stream, std::exchange(attempt.owed, 0));
}

void Exchange::on_client_writable() noexcept {
  for (Attempt& attempt : attempts_) ask_node(attempt);
}

void Exchange::on_trailers(Attempt& /*attempt*/, std::span<const http::Field> fields) noexcept {
  if (takes_trailers_) client_->codec().send_trailers(stream_, fields);
}

void Exchange::on_end(Attempt& attempt) noexcept {
  rules_.finished(attempt.index);
  if (request_ended_) {
    attempt.connection->forget(attempt);
  } else {
    attempt.connection->cancel(attempt);  // the rest of the request is not wanted
  }
  answer_ = Answer::kEnded;
  client_->codec().send_end(stream_);
  core_.metrics.duration.add(core_.reactor.now() - began_);
  finish();
}

void Exchange::on_failed(Attempt& attempt, const base::Error& error, bool begun) noexcept {
  const auto where = begun            ? request::Broke::kInAnswer
                     : attempt.reused ? request::Broke::kReused
                                      : request::Broke::kFresh;
  const Step step = rules_.failed(attempt.index, error, where, place(), core_.reactor.now());
  if (step.urgent) core_.urgent(rules_.node(attempt.index));
  act(step);
}

// --- ends

// One of our own: a line of text that says why.
void Exchange::answer(Reason reason) noexcept {
  for (Attempt& attempt : attempts_) cancel(attempt);
  const auto why = request::describe(reason);
  const bool with_text = facts_.method != http::Method::kHead;
  const std::size_t length = 4 + why.sentence.size() + 1;
  auto slab = core_.reactor.slab(http::kAnswerBound + length);
  char* const text = slab.text();
  const auto size = http::write_answer_head(why.status, "text/plain", length, text);
  char* at = std::to_chars(text + size, text + size + 3, why.status).ptr;
  *at++ = ' ';
  std::memcpy(at, why.sentence.data(), why.sentence.size());
  at[why.sentence.size()] = '\n';
  const base::Buf whole = std::move(slab).take(size + length);
  http::OutHead out;
  out.bytes = whole.share(0, size);
  out.status = why.status;
  out.body = http::Body::kLength;
  out.length = length;
  auto& codec = client_->codec();
  if (client_->leaving()) codec.drain();
  codec.send_head(stream_, std::move(out));
  if (with_text) codec.send_body(stream_, whole.share(size, length));
  codec.send_end(stream_);
  core_.metrics.answers[why.status / 100U].add(1);
  core_.metrics.own_answers[static_cast<std::size_t>(reason)].add(1);
  finish();
}

void Exchange::abort() noexcept {
  for (Attempt& attempt : attempts_) cancel(attempt);
  core_.metrics.aborted.add(1);
  client_->abort(stream_);
  finish();
}

void Exchange::cancel(Attempt& attempt) noexcept {
  if (rules_.running(attempt.index)) rules_.give_up(attempt.index);
  if (attempt.connection != nullptr) attempt.connection->cancel(attempt);
}

void Exchange::expire() noexcept { answer_ == Answer::kHead ? abort() : answer(Reason::kOurLimit); }

void Exchange::finish() noexcept {
  head_ = {};
  store_.clear();
  trailers_.reset();
  if (generation_ != nullptr) --generation_->users;
  generation_ = nullptr;
  client_->over(*this);
  client_ = nullptr;
  --core_.live_exchanges;
  core_.metrics.exchanges.set(core_.live_exchanges);
  core_.free(*this);
}

// --- time

// Armed for the earliest deadline and left alone when that moves later: at most one firing in the
// shortest time-out.
void Exchange::arm() noexcept {
  if (client_ == nullptr) return;
  const auto at = rules_.deadline();
  if (at >= armed_) return;
  armed_ = at;
  timer_->at(at);
}

void Exchange::on_time() noexcept {
  armed_ = base::TimePoint::max();
  if (client_ == nullptr) return;
  const auto now = core_.reactor.now();
  if (now >= rules_.deadline()) {
    const Step step = rules_.on_time(stall(), place(), now);
    if (step.urgent) core_.urgent(rules_.node(0));
    for (Attempt& attempt : attempts_) {
      if (attempt.connection != nullptr && !rules_.running(attempt.index)) {
        attempt.connection->cancel(attempt);
      }
    }
    act(step);
  }
  arm();
  core_.deferred.settle();
}

request::Stall Exchange::stall() const noexcept {
  if (answer_ == Answer::kHead) {
    return client_->unsent() > 0 ? request::Stall::kClient : request::Stall::kNode;
  }
  bool ready = false;
  for (const Attempt& attempt : attempts_) ready = ready || attempt.ready();
  return ready && !request_ended_ && owed_ == 0 ? request::Stall::kClient : request::Stall::kNode;
}

}  // namespace steelyard::proxy
