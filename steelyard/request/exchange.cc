#include "steelyard/request/exchange.h"

#include <algorithm>
#include <cassert>

namespace steelyard::request {

using base::Code;
using base::TimePoint;

Step Exchange::begin(const Policy& policy, bool idempotent, std::uint64_t key, const Place& place,
                     TimePoint now) noexcept {
  assert(!running(0) && !running(1));
  policy_ = &policy;
  key_ = key;
  began_ = moved_ = now;
  tried_count_ = tries_ = moves_ = resends_ = 0;
  idempotent_ = idempotent;
  replayable_ = true;
  answered_ = stale_ = false;
  forgiven_.reset();
  return pick(place, now, Reason::kNone);
}

// Asks the picker until a reservation holds. `forgive`: a place in `tried_` that may be picked
// again.
std::optional<pick::Index> Exchange::choose(const Place& place, std::optional<std::uint8_t> forgive,
                                            model::InFlight& token, bool& busy) const noexcept {
  std::array<model::NodeRef, kTried> tried;
  std::size_t count = 0;
  for (std::uint8_t i = 0; i < tried_count_; ++i) {
    if (i != forgive) tried[count++] = tried_[i];
  }
  const auto upstream = *place.upstream;
  const auto& nodes = place.table.model->upstreams[upstream].nodes;
  for (;;) {
    const pick::Input input{place.slots, std::span(tried.data(), count), key_};
    const auto at = place.cursors.pick(place.table, upstream, input, place.rng);
    if (!at) return std::nullopt;
    if (auto taken = model::InFlight::acquire(place.slots.line(nodes[*at].ref))) {
      token = std::move(*taken);
      return at;
    }
    busy = true;  // another worker took the last permit between the look and the reservation
    if (count == kTried) return std::nullopt;
    tried[count++] = nodes[*at].ref;
  }
}

Step Exchange::pick(const Place& place, TimePoint now, Reason otherwise) noexcept {
  if (!place.upstream) return close(Reason::kNoUpstream);
  if (policy_->timeouts.total && now >= began_ + *policy_->timeouts.total) {
    return close(Reason::kTotalTimeout);
  }
  model::InFlight token;
  bool busy = false;
  auto at = choose(place, std::nullopt, token, busy);
  if (!at && forgiven_) {
    at = choose(place, forgiven_, token, busy);
    forgiven_.reset();
  }
  if (at) return start(place, *at, std::move(token), now);
  if (otherwise != Reason::kNone) return close(otherwise);
  const auto& upstream = place.table.model->upstreams[*place.upstream];
  busy = busy || std::any_of(upstream.nodes.begin(), upstream.nodes.end(), [&](const auto& node) {
           return model::in_rotation(node.eligibility, upstream.panic);
         });
  return close(busy ? Reason::kAllBusy : Reason::kNoNode);
}

Step Exchange::start(const Place& place, pick::Index at, model::InFlight token,
                     TimePoint now) noexcept {
  const auto& node = place.table.model->upstreams[*place.upstream].nodes[at];
  const unsigned which = running(0) ? 1 : 0;
  assert(!running(which));
  Attempt& attempt = attempts_[which];
  attempt.state = State::kConnecting;
  attempt.status = 0;
  attempt.node = node.ref;
  attempt.began = moved_ = now;
  attempt.token = std::move(token);
  attempt.cells = &place.slots.cells(node.ref, place.worker);
  attempt.cells->attempts.add(1);
  if (tried_count_ < kTried) tried_[tried_count_++] = node.ref;
  ++tries_;
  Step step;
  step.kind = Step::Kind::kTry;
  step.attempt = static_cast<std::uint8_t>(which);
  step.fresh = stale_;
  step.node = &node;
  return step;
}

void Exchange::connected(unsigned which, TimePoint now) noexcept {
  Attempt& attempt = attempts_[which];
  if (attempt.state == State::kConnecting) attempt.state = State::kSending;
  moved_ = now;
}

void Exchange::sent(unsigned which, TimePoint now) noexcept {
  Attempt& attempt = attempts_[which];
  if (attempt.state != State::kSending) return;
  attempt.state = State::kWaiting;
  attempt.sent = moved_ = now;
}

std::optional<unsigned> Exchange::head(unsigned which, unsigned status, TimePoint now) noexcept {
  Attempt& attempt = attempts_[which];
  assert(attempt.state != State::kFree);
  // An answer that came before the end of the request says nothing about how long the node takes.
  if (attempt.state == State::kWaiting && status < 500) {
    attempt.cells->head_latency.add(now - attempt.sent);
  }
  attempt.state = State::kAnswering;
  attempt.status = static_cast<std::uint16_t>(status);
  moved_ = now;
  const unsigned other = 1 - which;
  return running(other) ? std::optional(other) : std::nullopt;
}

void Exchange::finished(unsigned which) noexcept {
  Attempt& attempt = attempts_[which];
  if (attempt.state == State::kFree) return;
  end(attempt, attempt.status < 500 ? Outcome::kSuccess : Outcome::kFailure);
}

void Exchange::give_up(unsigned which) noexcept {
  Attempt& attempt = attempts_[which];
  if (attempt.state == State::kFree) return;
  if (attempt.state != State::kAnswering) return end(attempt, Outcome::kUncounted);
  end(attempt, attempt.status < 500 ? Outcome::kSuccess : Outcome::kFailure);
}

void Exchange::count_failure(Attempt& attempt, Code code) noexcept {
  auto& cells = *attempt.cells;
  if (code == Code::kTimeout) cells.timeouts.add(1);
  if (attempt.state == State::kConnecting) {
    cells.connect_failures.add(1);
    if (code == Code::kRefused || code == Code::kUnreachable) cells.refused.add(1);
    cells.failure_streak.add(1);
    end(attempt, Outcome::kUncounted);
  } else {
    end(attempt, Outcome::kFailure);
  }
}

void Exchange::end(Attempt& attempt, Outcome outcome) noexcept {
  if (outcome == Outcome::kSuccess) {
    attempt.cells->successes.add(1);
    attempt.cells->failure_streak.set(0);
  } else if (outcome == Outcome::kFailure) {
    attempt.cells->failures.add(1);
    attempt.cells->failure_streak.add(1);
  }
  attempt.state = State::kFree;
  attempt.token.give_back();  // last: once it is back the slot may be reused
}

Step Exchange::close(Reason reason) noexcept {
  Step step;
  step.kind = answered_ ? Step::Kind::kAbort : Step::Kind::kAnswer;
  step.reason = reason;
  return step;
}

Step Exchange::failed(unsigned which, const base::Error& error, Broke where, const Place& place,
                      TimePoint now) noexcept {
  Attempt& attempt = attempts_[which];
  assert(attempt.state != State::kFree);
  const bool connecting = attempt.state == State::kConnecting;
  const bool theirs = error.origin == base::Origin::kNode;
  const bool unsent = error.retry_safe;
  const bool begun = where == Broke::kInAnswer || attempt.state == State::kAnswering;
  const bool limit = theirs && !connecting && error.code == Code::kLimit;
  const bool stale = where == Broke::kReused && !connecting && !answered_ && !begun;
  Reason reason = Reason::kBroken;
  if (connecting) {
    reason = error.code == Code::kTimeout ? Reason::kConnectTimeout : Reason::kConnectFailed;
  } else if (error.code == Code::kProtocol || error.code == Code::kLimit) {
    reason = Reason::kBadAnswer;
  } else if (error.code == Code::kTimeout) {
    reason = Reason::kHeadTimeout;
  }
  if (!theirs) {
    reason = Reason::kOurLimit;
    end(attempt, Outcome::kUncounted);
  } else if (stale || limit) {
    end(attempt, Outcome::kUncounted);
  } else {
    count_failure(attempt, error.code);
  }

  const bool urgent = theirs && !stale && !limit;
  const unsigned other = 1 - which;
  Step step;
  if (running(other)) {  // the hedge goes on
    step.urgent = urgent;
    return step;
  }
  const std::uint32_t budget = policy_->retry.attempts;
  const bool may = theirs && !answered_ && !begun && replayable_ && (unsent || idempotent_);
  if (may && stale && !stale_ && resends_ < std::max(1U, budget)) {
    stale_ = true;
    ++resends_;
    forgiven_ = static_cast<std::uint8_t>(tried_count_ - 1);
    step = pick(place, now, reason);
  } else if (may && !stale && (unsent ? moves_ : resends_) < budget) {
    ++(unsent ? moves_ : resends_);
    step = pick(place, now, reason);
  } else {
    step = close(reason);
  }
  step.urgent = urgent;
  return step;
}

TimePoint Exchange::deadline_of(const Attempt& attempt) const noexcept {
  const auto& timeouts = policy_->timeouts;
  switch (attempt.state) {
    case State::kConnecting:
      return attempt.began + timeouts.connect;
    case State::kWaiting:
      return attempt.sent + timeouts.head;
    case State::kSending:
    case State::kAnswering:
      return moved_ + timeouts.idle;
    case State::kFree:
      break;
  }
  return TimePoint::max();
}

TimePoint Exchange::deadline() const noexcept {
  auto at = std::min(deadline_of(attempts_[0]), deadline_of(attempts_[1]));
  if (policy_->timeouts.total && (running(0) || running(1))) {
    at = std::min(at, began_ + *policy_->timeouts.total);
  }
  return at;
}

Step Exchange::on_time(Stall stall, const Place& place, TimePoint now) noexcept {
  if (now < deadline()) return {};
  if (policy_->timeouts.total && now >= began_ + *policy_->timeouts.total) {
    for (auto& attempt : attempts_) {
      if (attempt.state == State::kFree) continue;
      stall == Stall::kNode ? count_failure(attempt, Code::kTimeout)
                            : end(attempt, Outcome::kUncounted);
    }
    Step step = close(Reason::kTotalTimeout);
    step.urgent = stall == Stall::kNode;
    return step;
  }
  for (unsigned which = 0; which < kAttempts; ++which) {
    Attempt& attempt = attempts_[which];
    if (attempt.state == State::kFree || now < deadline_of(attempt)) continue;
    if (attempt.state == State::kConnecting) {
      const base::Error error{Code::kTimeout, base::Origin::kNode, true, {}};
      return failed(which, error, Broke::kFresh, place, now);
    }
    const bool waiting = attempt.state == State::kWaiting;
    if (!waiting && stall == Stall::kClient) {
      give_up(which);
      return close(Reason::kClientTimeout);
    }
    count_failure(attempt, Code::kTimeout);
    Step step =
        running(1 - which) ? Step{} : close(waiting ? Reason::kHeadTimeout : Reason::kIdleTimeout);
    step.urgent = true;
    return step;
  }
  return {};
}

}  // namespace steelyard::request
