// The answer's way to the client, our own answers, and the end.
#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>

#include "steelyard/http/date.h"
#include "steelyard/http/rewrite.h"
#include "steelyard/proxy/core.h"

namespace steelyard::proxy {

using request::Reason;
using request::Step;

namespace {

constexpr std::string_view kRetryAfter = "Retry-After: ";
constexpr std::size_t kSecondsBound = 5;
constexpr std::string_view kDate = "Date: ";
constexpr std::string_view kAllow = "Allow: ";
constexpr std::size_t kFieldsBound = kAllow.size() + http::kAllowed.size() + 2 +
                                     kRetryAfter.size() + kSecondsBound + 2 + kDate.size() +
                                     http::kDateSize + 2;

// Behind the fields of a written head of `size` bytes; gives the new size.
std::size_t add_field(std::string_view name, std::string_view value, char* text,
                      std::size_t size) noexcept {
  char* at = text + size - 2;  // over the empty line
  for (const auto part : {name, value, std::string_view("\r\n\r\n")}) {
    at = std::copy(part.begin(), part.end(), at);
  }
  return static_cast<std::size_t>(at - text);
}

std::size_t add_retry_after(std::uint16_t seconds, char* text, std::size_t size) noexcept {
  std::array<char, kSecondsBound> digits;
  const char* const end = std::to_chars(digits.data(), digits.data() + digits.size(), seconds).ptr;
  const auto count = static_cast<std::size_t>(end - digits.data());
  return add_field(kRetryAfter, {digits.data(), count}, text, size);
}

// How long a node wants to be left alone.
std::optional<base::Duration> retry_after(const http::Head& head, const Core& core) noexcept {
  if (head.status != 503) return std::nullopt;
  const http::Field* const field = head.find(http::FieldId::kRetryAfter);
  if (field == nullptr) return std::nullopt;
  const auto wall = std::chrono::floor<std::chrono::seconds>(core.options.wall());
  constexpr auto kMost = std::chrono::floor<std::chrono::seconds>(request::Rests::kLongest);
  return http::parse_retry_after(field->value, wall, kMost);
}

}  // namespace

void Exchange::on_head(Attempt& attempt, const http::Head& head) noexcept {
  if (head.is_interim()) {
    rules_.moved(core_.reactor.now());
    if (old_client_) return;
    // Not tried again from here on; but the final answer is still to come, and may be one of ours.
    if (repeatable_) cannot_repeat();
    forward_head(head);
    answer_ = Answer::kInterim;
    return;
  }
  on_final_head(attempt, head);
}

void Exchange::on_final_head(Attempt& attempt, const http::Head& head) noexcept {
  const auto node = rules_.node(attempt.index);
  const auto to = rules_.head(attempt.index, head.status, retry_after(head, core_), place(),
                              core_.reactor.now());
  if (!to.pass) {  // it is tried again, or the other attempt goes on
    if (to.next.urgent) core_.urgent(node);
    attempt.connection->cancel(attempt);
    core_.wait_room.look();
    return act(to.next);
  }
  if (to.next.denied) core_.metrics.denied.add(1);
  if (to.loser) cancel(attempts_[*to.loser]);
  if (attempt.index == hedged_) core_.metrics.hedges_won.add(1);
  rules_.answered();
  core_.metrics.answers[WorkerMetrics::class_of(head.status)].add(1);
  status_ = head.status;
  if (!core_.logging()) head_ = {};
  if (repeatable_) cannot_repeat();
  forward_head(head);
  answer_ = Answer::kHead;
  if (head.body == http::Body::kTunnel) open_tunnel(attempt);
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
  if (!head.is_interim()) keep_answer_head(out.bytes);
  if (client_->leaving() && out.body != http::Body::kTunnel) client_->codec().drain();
  const bool interim = head.is_interim();
  client_->codec().send_head(stream_, std::move(out));
  if (!interim) body_from_ = client_->written();
}

// Both directions are open again, whatever the request and the answer were. It may live for days:
// it takes with it what it needs of its Config and lets that go.
void Exchange::open_tunnel(Attempt& attempt) noexcept {
  tunnel_ = true;
  request_ended_ = false;
  window_.close(core_.widened);
  attempt.window.close(core_.widened);
  rules_.tunnel(attempt.index, rules_.policy().timeouts.tunnel);
  core_.metrics.tunnels.add(1);
  core_.metrics.tunnels_open.add(1);
  if (core_.logging()) keep_nodes();
  let_config_go();
}

void Exchange::end_tunnel_half() noexcept {
  if (!request_ended_ || !answer_ended_) return;
  for (Attempt& attempt : attempts_) {
    if (attempt.connection == nullptr) continue;
    rules_.finished(attempt.index);
    attempt.connection->forget(attempt);
  }
  answer_ = Answer::kEnded;
  core_.wait_room.look();
  finish();
}

void Exchange::let_config_go() noexcept {
  if (generation_ != nullptr) --generation_->users;
  generation_ = nullptr;
}

void Exchange::on_body(Attempt& attempt, base::Buf bytes) noexcept {
  attempt.window.passed(bytes.size());
  rules_.moved(core_.reactor.now());
  client_->codec().send_body(stream_, std::move(bytes));
  ask_node(attempt, Window::Taker::kUnknown);
}

void Exchange::ask_node(Attempt& attempt, Window::Taker client) noexcept {
  if (!attempt.window.owes() || !client_->writable(stream_)) return;
  attempt.connection->codec().grant(attempt.stream,
                                    attempt.window.give_back(client, core_.widened));
}

void Exchange::on_client_writable() noexcept {
  const auto client = core_.taker(client_->unsent());
  for (Attempt& attempt : attempts_) ask_node(attempt, client);
}

void Exchange::on_trailers(Attempt& /*attempt*/, std::span<const http::Field> fields) noexcept {
  if (takes_trailers_) client_->codec().send_trailers(stream_, fields);
}

void Exchange::on_end(Attempt& attempt) noexcept {
  if (tunnel_) {
    answer_ended_ = true;
    client_->codec().send_end(stream_);
    return end_tunnel_half();
  }
  rules_.finished(attempt.index);
  core_.wait_room.look();
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
  const auto node = rules_.node(attempt.index);
  const Step step = rules_.failed(attempt.index, error, where, place(), core_.reactor.now());
  if (step.urgent) core_.urgent(node);
  core_.wait_room.look();
  act(step);
}

// --- ends

// One of our own: a line of text that says why, or nothing but what we allow.
void Exchange::answer(Reason reason) noexcept {
  for (Attempt& attempt : attempts_) cancel(attempt);
  const auto why = request::describe(reason);
  const bool good = why.status == 200;
  const bool with_text = !good && facts_.method != http::Method::kHead;
  const std::size_t length = good ? 0 : 4 + why.sentence.size() + 1;
  auto slab = core_.reactor.slab(http::kAnswerBound + kFieldsBound + length);
  char* const text = slab.text();
  auto size = http::write_answer_head(why.status, good ? "" : "text/plain", length, text);
  size = add_field(kDate, core_.date(), text, size);
  if (good) size = add_field(kAllow, http::kAllowed, text, size);
  if (why.retry_after > 0) size = add_retry_after(why.retry_after, text, size);
  if (!good) {
    char* at = std::to_chars(text + size, text + size + 3, why.status).ptr;
    *at++ = ' ';
    std::memcpy(at, why.sentence.data(), why.sentence.size());
    at[why.sentence.size()] = '\n';
  }
  const base::Buf whole = std::move(slab).take(size + length);
  http::OutHead out;
  out.bytes = whole.share(0, size);
  keep_answer_head(out.bytes);
  out.status = why.status;
  out.body = http::Body::kLength;
  out.length = length;
  auto& codec = client_->codec();
  if (client_->leaving()) codec.drain();
  codec.send_head(stream_, std::move(out));
  body_from_ = client_->written();
  if (with_text) codec.send_body(stream_, whole.share(size, length));
  codec.send_end(stream_);
  status_ = why.status;
  reason_ = reason;
  core_.metrics.answers[why.status / 100U].add(1);
  core_.metrics.own_answers[static_cast<std::size_t>(reason)].add(1);
  core_.metrics.duration.add(core_.reactor.now() - began_);
  finish();
}

void Exchange::abort(Reason reason) noexcept {
  reason_ = reason;
  for (Attempt& attempt : attempts_) cancel(attempt);
  core_.metrics.aborted.add(1);
  client_->abort(stream_);
  finish();
}

void Exchange::cancel(Attempt& attempt) noexcept {
  if (rules_.running(attempt.index)) {
    rules_.give_up(attempt.index);
    core_.wait_room.look();
  }
  if (attempt.connection != nullptr) attempt.connection->cancel(attempt);
}

void Exchange::expire(Reason reason) noexcept {
  answer_ == Answer::kHead ? abort(reason) : answer(reason);
}

std::size_t Exchange::held() const noexcept {
  std::size_t sum = store_.size();
  for (const Attempt& attempt : attempts_) {
    if (attempt.connection != nullptr) sum += attempt.connection->unsent();
  }
  return sum;
}

void Exchange::finish() noexcept {
  leave_queue();
  window_.close(core_.widened);
  if (core_.logging()) tell_log();
  head_ = {};
  answer_head_ = {};
  store_.clear();
  trailers_.reset();
  kept_.reset();
  let_config_go();
  if (tunnel_) core_.metrics.tunnels_open.set(core_.metrics.tunnels_open.read() - 1);
  client_->over(*this);
  client_ = nullptr;
  --core_.live_exchanges;
  core_.metrics.exchanges.set(core_.live_exchanges);
  core_.free(*this);
}

}  // namespace steelyard::proxy
