#include "steelyard/proxy/exchange.h"

#include <utility>

#include "steelyard/http/rewrite.h"
#include "steelyard/proxy/core.h"
#include "steelyard/proxy/head_facts.h"
#include "steelyard/proxy/refusal.h"

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
  asked_ = client_->take_asked(began_);
  facts_ = http::out_facts(head);
  idempotent_ = http::is_idempotent(head.method);
  old_client_ = head.version == http::Version::k10;
  facts_.trailers = http::takes_trailers(head);
  takes_trailers_ = head.version == http::Version::k2 || facts_.trailers;
  client_address_ = client_->peer();
  trusted_ = cut_ = false;
  body_seen_ = 0;
  in_from_ = client_->used() - (head.raw == nullptr ? 0 : head.raw->size());
  out_from_ = client_->written();
  body_from_ = kNoBody;
  detail_ = {};
  status_ = 0;
  reason_ = Reason::kNone;
  ruled_ = false;
  // Until it is written anew for the nodes.
  if (core_.logging() && head.raw != nullptr) head_ = head.raw->share();
  hedged_ = request::Exchange::kAttempts;
  answer_ = Answer::kNone;
  request_ended_ = false;
  repeatable_ = true;
  tunnel_ = answer_ended_ = false;
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
  const auto& config = generation_->config->listeners[listening.place];
  trusted_ =
      generation_->config->clients.trust_forwarded || is_trusted(client_address_, config.trusted);
  if (trusted_) client_address_ = client_behind(client_address_, head, config.trusted);
  // RFC 9110 7.4: of whom we cannot know how its client came, none but http is taken.
  if (head.https && !trusted_) return answer(Reason::kMisdirected);
  const auto hops = hops_left(head);
  if (hops == 0) return answer(Reason::kNoHopLeft);
  const HeadFacts facts(head, client_address_);
  const auto at = config.router(core_.options.index)
                      .match({head.authority, head.path, head.method_text}, facts);
  const bool connect = head.method == http::Method::kConnect;
  if (!at) return answer(connect ? Reason::kNotOffered : Reason::kNoRoute);
  const Route& route = config.routes[*at];
  upstream_ = route.upstreams.front();
  if (!route.split.empty()) {
    upstream_ = route.upstreams[route.split.choose(route.split.source().key(facts), core_.rng)];
  }
  if (connect && !route.connect) return answer(Reason::kNotOffered);
  facts_.upgrade = may_upgrade(route, head);
  if (connect || facts_.upgrade) idempotent_ = false;  // no two nodes for one tunnel
  const auto given = given_time(head);
  write_head(head, route, given, hops);
  const auto where = place();
  const request::Request request{
      .idempotent = idempotent_, .key = request::key_of(where, facts), .given = given};
  ruled_ = true;
  act(rules_.begin(route.policy, request, where, began_));
}

request::Place Exchange::place() noexcept {
  std::optional<std::uint32_t> upstream;
  if (generation_ != nullptr) upstream = generation_->places[upstream_];
  return {*core_.record->table, upstream,  core_.cursors, core_.slots,
          core_.options.index,  core_.rng, core_.states};
}

void Exchange::act(const Step& step) noexcept {
  if (step.denied) core_.metrics.denied.add(1);
  switch (step.kind) {
    case Step::Kind::kWait:
      if (rules_.waiting() && !std::exchange(queued_, true)) core_.wait_room.entered();
      break;
    case Step::Kind::kTry:
      if (rules_.tries() > 1) core_.metrics.retries.add(1);
      if (step.fresh) core_.metrics.stale.add(1);
      if (step.hedge) {
        core_.metrics.hedges.add(1);
        hedged_ = step.attempt;
      }
      start(step);
      break;
    case Step::Kind::kAnswer:
      return answer(step.reason);
    case Step::Kind::kAbort:
      return abort(step.reason);
  }
  arm();
}

void Exchange::start(const Step& step) noexcept {
  Attempt& attempt = attempts_[step.attempt];
  if (attempt.connection != nullptr) attempt.connection->cancel(attempt);
  attempt.reused = false;
  core_.acquire(*step.node, step.fresh, rules_.policy().timeouts.connect, attempt);
}

bool Exchange::wake() noexcept {
  const Step step = rules_.wake(place(), core_.reactor.now());
  if (rules_.waiting()) return false;
  leave_queue();
  act(step);
  return true;
}

void Exchange::leave_queue() noexcept {
  if (!std::exchange(queued_, false)) return;
  rules_.leave_queue();
  core_.wait_room.left();
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
  http::OutHead head = {head_bytes(),  facts_.method,  facts_.status,  facts_.body,
                        facts_.length, facts_.upgrade, facts_.trailers};
  codec.send_head(attempt.stream, std::move(head));
  store_.each([&](base::Buf bytes) { codec.send_body(attempt.stream, std::move(bytes)); });
  if (body_seen_ > 0 && repeatable_ && (!idempotent_ || store_.size() > kRepeat)) cannot_repeat();
  if (request_ended_) {
    send_request_end(attempt);
  } else {
    ask_client(Window::Taker::kUnknown);
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
  window_.passed(size);
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
  ask_client(Window::Taker::kUnknown);
}

void Exchange::on_request_trailers(std::span<const http::Field> fields) noexcept {
  trailers_ = std::make_unique<Trailers>();
  for (const auto& field : fields) {
    if (!field.drop) trailers_->emplace_back(field.name, field.value);
  }
}

void Exchange::on_request_end() noexcept {
  if (tunnel_) {
    request_ended_ = true;
    if (Attempt* const to = carrier()) {
      NodeConnection& connection = *to->connection;
      const auto stream = to->stream;
      if (answer_ended_) {  // nothing is left of it: what is still to be sent goes out in peace
        rules_.finished(to->index);
        connection.forget(*to);
      }
      connection.codec().send_end(stream);
    }
    return end_tunnel_half();
  }
  request_ended_ = true;
  rules_.whole();
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
void Exchange::ask_client(Window::Taker node) noexcept {
  if (!window_.owes()) return;
  Attempt* const to = carrier();
  if (to == nullptr || !to->connection->writable(to->stream)) return;
  client_->codec().grant(stream_, window_.give_back(node, core_.widened));
}

void Exchange::on_node_writable() noexcept {
  const Attempt* const to = carrier();
  if (to != nullptr) ask_client(core_.taker(to->connection->unsent()));
}

void Exchange::on_client_gone(const http::Reset& reset, Reason lost) noexcept {
  const bool broken = reset.why == http::Why::kProtocol || reset.why == http::Why::kLimit;
  reason_ = reset.told > 0 || broken ? reason_of(reset) : lost;
  detail_ = reset.text;
  cut_ = reset.told == 0;
  if (reset.told > 0) {
    status_ = reset.status;
    body_from_ = client_->written() - reset.told_body;
    core_.metrics.own_answers[static_cast<std::size_t>(reason_)].add(1);
  }
  if (answer_ == Answer::kNone || answer_ == Answer::kInterim) {
    core_.metrics.answers[cut_ ? 0 : WorkerMetrics::class_of(reset.status)].add(1);
  }
  for (Attempt& attempt : attempts_) cancel(attempt);
  finish();
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
    const bool silent = stall() == request::Stall::kNode;
    const Step step = rules_.on_time(stall(), place(), now);
    if (!rules_.waiting()) leave_queue();
    core_.wait_room.look();
    if (step.urgent) core_.urgent(rules_.node(0));
    for (Attempt& attempt : attempts_) {
      if (attempt.connection == nullptr || rules_.running(attempt.index)) continue;
      silent ? attempt.connection->silent(attempt) : attempt.connection->cancel(attempt);
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
  return ready && !request_ended_ && !window_.owes() ? request::Stall::kClient
                                                     : request::Stall::kNode;
}

}  // namespace steelyard::proxy
