// How long each step may take, and what follows when it took longer (exchange.h).
#include <algorithm>

#include "steelyard/request/exchange.h"

namespace steelyard::request {

using base::Code;
using base::TimePoint;

TimePoint Exchange::deadline_of(const Attempt& attempt) const noexcept {
  if (attempt.state == State::kTunnel) return moved_ + tunnel_idle_;
  if (attempt.state == State::kFree) return TimePoint::max();
  const auto& timeouts = policy_->timeouts;
  switch (attempt.state) {
    case State::kConnecting:
      return attempt.began + timeouts.connect;
    case State::kWaiting:
      return attempt.sent + head_limit_;
    case State::kSending:
    case State::kAnswering:
      return moved_ + timeouts.idle;
    case State::kFree:
    case State::kTunnel:
      break;
  }
  return TimePoint::max();
}

// When the only attempt, still without a head, makes room for another one.
TimePoint Exchange::slow_at() const noexcept {
  const auto& retry = policy_->retry;
  if (!retry.timeout || patient_ || !resendable() || resends_ >= retry.attempts) {
    return TimePoint::max();
  }
  for (unsigned which = 0; which < kAttempts; ++which) {
    const Attempt& attempt = attempts_[which];
    if (attempt.state == State::kFree || running(1 - which)) continue;
    if (attempt.state != State::kAnswering) return attempt.began + *retry.timeout;
  }
  return TimePoint::max();
}

// When the only attempt, still without a head, gets another one beside it.
TimePoint Exchange::hedge_at() const noexcept {
  if (hedge_after_ == base::Duration::zero() || !whole_ || !resendable() ||
      resends_ >= std::max(1U, policy_->retry.attempts)) {
    return TimePoint::max();
  }
  for (unsigned which = 0; which < kAttempts; ++which) {
    const Attempt& attempt = attempts_[which];
    if (attempt.state == State::kFree || running(1 - which)) continue;
    if (attempt.state == State::kWaiting) return attempt.sent + hedge_after_;
    if (attempt.state == State::kConnecting) return attempt.began + hedge_after_;
  }
  return TimePoint::max();
}

TimePoint Exchange::deadline() const noexcept {
  if (waiting()) return std::min(wait_until_, end_by_);
  if (!running(0) && !running(1)) return TimePoint::max();
  const auto at = std::min({deadline_of(attempts_[0]), deadline_of(attempts_[1]), end_by_});
  if (policy_ == nullptr) return at;
  if (!policy_->retry.timeout && hedge_after_ == base::Duration::zero()) return at;
  return std::min({at, slow_at(), hedge_at()});
}

Step Exchange::out_of_time(Stall stall) noexcept {
  for (auto& attempt : attempts_) {
    if (attempt.state == State::kFree) continue;
    stall == Stall::kNode ? count_failure(attempt, Code::kTimeout)
                          : end(attempt, Outcome::kUncounted);
  }
  Step step = close(Reason::kTotalTimeout);
  step.urgent = stall == Stall::kNode;
  return step;
}

Step Exchange::on_time(Stall stall, const Place& place, TimePoint now) noexcept {
  if (now < deadline()) return {};
  if (waiting()) {
    leave();
    return close(now >= end_by_ ? Reason::kTotalTimeout : Reason::kQueueTimeout);
  }
  if (now >= end_by_) return out_of_time(stall);
  for (unsigned which = 0; which < kAttempts; ++which) {
    Attempt& attempt = attempts_[which];
    if (attempt.state == State::kFree || now < deadline_of(attempt)) continue;
    if (attempt.state == State::kTunnel) {
      finished(which);
      return close(Reason::kIdleTimeout);
    }
    if (attempt.state == State::kConnecting) {
      const base::Error error{Code::kTimeout, base::Origin::kNode, true, {}};
      return failed(which, error, Broke::kFresh, place, now);
    }
    const bool waits = attempt.state == State::kWaiting;
    if (!waits && stall == Stall::kClient) {
      give_up(which);
      return close(Reason::kClientTimeout);
    }
    count_failure(attempt, Code::kTimeout);
    Step step =
        running(1 - which) ? Step{} : close(waits ? Reason::kHeadTimeout : Reason::kIdleTimeout);
    step.urgent = true;
    return step;
  }
  if (policy_ == nullptr) return {};
  if (now >= slow_at()) return replace_slow(running(0) ? 0 : 1, place, now);
  if (now >= hedge_at()) return hedge(place, now);
  return {};
}

}  // namespace steelyard::request
