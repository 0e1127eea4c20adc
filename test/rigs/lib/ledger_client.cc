#include "test/rigs/lib/ledger_client.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>

#include "test/rigs/lib/judge.h"

namespace steelyard::rigs {
namespace {

constexpr std::size_t kLarge = 65536;

Micros us_of(Time at) {
  return std::chrono::duration_cast<std::chrono::microseconds>(at.time_since_epoch()).count();
}

std::string hex(std::uint64_t value) {
  char text[20];
  (void)std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(value));
  return text;
}

}  // namespace

LedgerClient::LedgerClient(Loop& loop, LedgerClientOptions options)
    : loop_(loop), options_(std::move(options)), rng_(options_.seed), next_id_(options_.first_id) {}

void LedgerClient::start() {
  due_ = Clock::now();
  due();
}

void LedgerClient::rate(double per_second) {
  options_.rate = per_second;
  due_ = Clock::now();
  if (!ticking_) due();
}

void LedgerClient::finish(std::function<void()> done) {
  finishing_ = true;
  done_ = std::move(done);
  if (open_ == 0) done_();
}

void LedgerClient::hang_up() {
  for (auto& [key, session] : sessions_) session->wire->close();
  idle_.clear();
}

void LedgerClient::due() {
  ticking_ = !finishing_ && options_.rate > 0;
  if (!ticking_) return;
  const auto gap =
      std::chrono::duration_cast<Span>(std::chrono::duration<double>(1 / options_.rate));
  for (; due_ <= Clock::now(); due_ += gap) issue(make(us_of(due_)));
  (void)loop_.at(due_, [this] { due(); });
}

std::unique_ptr<LedgerClient::Request> LedgerClient::make(Micros start) {
  auto out = std::make_unique<Request>();
  out->asked.id = next_id_++;
  out->asked.post = rng_.unit() < options_.post;
  out->asked.start = start;
  out->nonce = rng_();
  const std::size_t size = rng_.unit() < options_.large ? kLarge : rng_.below(options_.usual + 1);
  const bool post = out->asked.post;
  out->size = post ? 16 : size;
  out->bytes = (post ? "POST /ledger/" : "GET /ledger/") + std::to_string(out->asked.id) +
               " HTTP/1.1\r\nHost: " + options_.host + "\r\nX-Ledger-Nonce: " + hex(out->nonce) +
               "\r\nX-Ledger-Size: " + std::to_string(out->size) + "\r\n";
  if (post) out->bytes += "Content-Length: " + std::to_string(size) + "\r\n";
  out->bytes += "\r\n";
  const auto body = post ? payload(out->nonce, size) : std::string();
  out->bytes += body;
  out->body_digest = digest_of(body);
  return out;
}

void LedgerClient::issue(std::unique_ptr<Request> request) {
  ++open_;
  ++totals_.sent;
  while (!idle_.empty()) {
    const auto key = idle_.back();
    idle_.pop_back();
    const auto found = sessions_.find(key);
    if (found == sessions_.end() || !found->second->wire->open()) continue;
    return ask(key, std::move(request));
  }
  if (sessions_.size() >= options_.connections) return waiting_.push_back(std::move(request));
  dial(std::move(request));
}

void LedgerClient::dial(std::unique_ptr<Request> request) {
  const auto key = ++sessions_made_;
  auto& session = *(sessions_[key] = std::make_unique<Session>());
  session.wire = Wire::dial(loop_, options_.to);
  session.reader.on_head = [this, &session](const Head& head) { on_head(session, head); };
  session.reader.on_body = [&session](std::string_view bytes) { session.digest.add(bytes); };
  session.reader.on_end = [this, key] { on_end(key); };
  session.wire->on.bytes = [this, key, &session](std::string_view bytes) {
    if (session.request == nullptr) return surplus(key, bytes);
    session.begun = true;
    if (session.reader.feed(bytes)) return;
    session.request == nullptr ? surplus(key, bytes) : failed(key, Outcome::kGarbled);
  };
  session.wire->on.end = [this, key](int error) { ended(key, error); };
  ask(key, std::move(request));
}

void LedgerClient::ask(std::uint64_t key, std::unique_ptr<Request> request) {
  auto& session = *sessions_.at(key);
  session.request = std::move(request);
  session.begun = false;
  session.keep = true;
  session.head = {};
  session.digest = {};
  session.reader.expect();
  session.deadline =
      loop_.at(Time(std::chrono::microseconds(session.request->asked.start)) + options_.deadline,
               [this, key] { failed(key, Outcome::kTimedOut); });
  session.wire->send(session.request->bytes);
}

void LedgerClient::on_head(Session& session, const Head& head) {
  session.head = head;
  auto& asked = session.request->asked;
  asked.status = head.status();
  const auto connection = head.field("Connection");
  session.keep = connection != "close" && connection != "Close";
  if (asked.status != 200) return;
  asked.node = head.field("X-Ledger-Node");
  const auto nonce = head.field("X-Ledger-Nonce");
  asked.nonce_ok = nonce.empty() || nonce == hex(session.request->nonce);
}

void LedgerClient::on_end(std::uint64_t key) {
  auto& session = *sessions_.at(key);
  const auto& request = *session.request;
  if (request.asked.status == 200 && session.head.field("X-Ledger-Nonce").empty()) {
    settle(session, Outcome::kForeign);
    drop(key);
    return next();
  }
  if (request.asked.status == 200 && request.asked.nonce_ok) {
    const auto answer = digest_of(payload(answer_nonce(request.nonce), request.size));
    const auto told = session.head.field("X-Ledger-Digest");
    const auto expected = request.asked.post ? request.body_digest : answer;
    session.request->asked.body_ok =
        session.digest.value() == answer && told == std::to_string(expected);
  }
  settle(session, Outcome::kAnswered);
  if (session.keep) {
    idle_.push_back(key);
  } else {
    drop(key);
  }
  next();
}

// The connection has ended.
void LedgerClient::ended(std::uint64_t key, int error) {
  const auto found = sessions_.find(key);
  if (found == sessions_.end()) return;
  auto& session = *found->second;
  if (session.request == nullptr) return drop(key);
  if (session.begun) {
    if (error == 0 && session.reader.end()) return;  // a body that lasts until the end
    return failed(key, Outcome::kTruncated);
  }
  if (error == ECONNREFUSED || error == EADDRNOTAVAIL || error == ETIMEDOUT) {
    return failed(key, Outcome::kRefused);
  }
  failed(key, error == 0 ? Outcome::kClosed : Outcome::kReset);
}

void LedgerClient::failed(std::uint64_t key, Outcome outcome) {
  const auto found = sessions_.find(key);
  if (found == sessions_.end() || found->second->request == nullptr) return;
  settle(*found->second, outcome);
  drop(key);
  next();
}

void LedgerClient::settle(Session& session, Outcome outcome) {
  loop_.cancel(session.deadline);
  auto request = std::move(session.request);
  request->asked.outcome = outcome;
  request->asked.end = us_of(Clock::now());
  ++(is_good(request->asked) ? totals_.good : totals_.bad);
  session.last = asked_.size();
  asked_.push_back(std::move(request->asked));
  --open_;
  if (finishing_ && open_ == 0 && done_) loop_.later(std::exchange(done_, nullptr));
}

// Bytes that nobody asked for count against the answer before them; only a farewell to an idle
// connection is in order.
void LedgerClient::surplus(std::uint64_t key, std::string_view bytes) {
  if (!bytes.starts_with("HTTP/1.1 408 ")) asked_.at(sessions_.at(key)->last).nonce_ok = false;
  drop(key);
}

void LedgerClient::drop(std::uint64_t key) {
  const auto found = sessions_.find(key);
  if (found == sessions_.end()) return;
  found->second->wire->close();
  // Out of the count at once, destroyed when nothing of it runs.
  loop_.later([gone = std::shared_ptr<Session>(std::move(found->second))] {});
  sessions_.erase(found);
}

void LedgerClient::next() {
  if (waiting_.empty()) return;
  auto request = std::move(waiting_.front());
  waiting_.pop_front();
  --open_;
  --totals_.sent;
  issue(std::move(request));
}

}  // namespace steelyard::rigs
