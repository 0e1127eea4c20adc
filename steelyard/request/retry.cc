// What is tried again, and what is tried beside another (exchange.h).
#include <algorithm>
#include <array>
#include <cassert>
#include <span>

#include "steelyard/request/exchange.h"

namespace steelyard::request {

using base::Code;
using base::TimePoint;

namespace {

constexpr base::Duration kRefused = std::chrono::seconds(1);  // guess: between two probes of it

// Is every node of the upstream out of service, tried in vain, or known to refuse? In panic most
// are out, and the last one counts as usable whatever it shows, so nothing is known against it here
// until this worker has asked it: what was tried speaks for all.
bool none_left(const Place& place, std::span<const model::NodeRef> tried, TimePoint now) noexcept {
  if (!place.upstream) return false;
  std::array<model::NodeRef, Rests::kMost> room;
  const auto known = place.states.at(*place.upstream).refused.copy(room, now);
  const auto refused = std::span(room).first(known);
  const auto has = [](std::span<const model::NodeRef> all, model::NodeRef node) {
    return std::find(all.begin(), all.end(), node) != all.end();
  };
  const auto& upstream = place.table.model->upstreams[*place.upstream];
  const auto& nodes = upstream.nodes;
  return upstream.panic || std::all_of(nodes.begin(), nodes.end(), [&](const auto& node) {
           return node.eligibility != model::Eligibility::kUsable || has(tried, node.ref) ||
                  has(refused, node.ref);
         });
}

}  // namespace

// May it go to a node again although one may have seen it?
bool Exchange::resendable() const noexcept { return idempotent_ && replayable_ && !answered_; }

// Another node that the budget, and the time that is left, allow.
Exchange::Chosen Exchange::another(const Place& place, Step& step, TimePoint now) noexcept {
  if (!place.upstream || now >= end_by_) return {};
  UpstreamState& state = place.states.at(*place.upstream);
  if (end_by_ != TimePoint::max()) {
    // Half of such answers would come too late.
    const auto& seen = state.latency.quantiles(now);
    if (seen && end_by_ - now < seen->p50) return {};
  }
  const auto& budget = state.rules.retry_budget;
  if (budget && !state.budget.allows(*budget, now)) {
    step.denied = true;
    return {};
  }
  Chosen chosen = choose(place, std::nullopt, now);
  if (!chosen.at && forgiven_) chosen = choose(place, forgiven_, now);
  if (chosen.at) state.budget.take(now);
  return chosen;
}

Step Exchange::again(const Place& place, Reason otherwise, TimePoint now) noexcept {
  if (!place.upstream) return close(Reason::kNoUpstream);
  if (now >= end_by_) return close(Reason::kTotalTimeout);
  Step asked;
  Chosen chosen = another(place, asked, now);
  forgiven_.reset();
  Step step = chosen.at ? start(place, std::move(chosen), Picked::kRetry, now) : close(otherwise);
  step.denied = asked.denied;
  return step;
}

Headed Exchange::head(unsigned which, unsigned status, std::optional<base::Duration> rest,
                      const Place& place, TimePoint now) noexcept {
  Attempt& attempt = attempts_[which];
  assert(attempt.state != State::kFree);
  Headed out;
  UpstreamState* const state = place.upstream ? &place.states.at(*place.upstream) : nullptr;
  // An answer that came before the end of the request says nothing about how long the node takes.
  if (attempt.state == State::kWaiting && status < 500) {
    attempt.cells->head_latency.add(now - attempt.sent);
    if (state != nullptr) {
      state->answered(attempt.node, attempt.at, now - attempt.sent, place.slots, now);
    }
  }
  attempt.state = State::kAnswering;
  attempt.status = static_cast<std::uint16_t>(status);
  if (attempt.turn < kTried) answered_with_[attempt.turn] = attempt.status;
  attempt.head = now - attempt.began;
  last_ = static_cast<std::uint8_t>(which);
  moved_ = now;
  if (rest && status == 503 && state != nullptr) state->rests.add(attempt.node, *rest, now);

  const unsigned other = 1 - which;
  if (status >= 400) {
    const auto& retried = policy_->retry.statuses;
    const bool wanted = std::find(retried.begin(), retried.end(), status) != retried.end();
    if (wanted && resendable()) {
      if (running(other)) {  // it may still bring a better one
        finished(which);
        out.pass = false;
        return out;
      }
      if (resends_ < policy_->retry.attempts) {
        Chosen chosen = another(place, out.next, now);
        if (chosen.at) {
          ++resends_;
          finished(which);
          const bool denied = out.next.denied;
          out.next = start(place, std::move(chosen), Picked::kRetry, now);
          out.next.denied = denied;
          out.next.urgent = status >= 500;
          out.pass = false;
          return out;
        }
      }
    }
  }
  if (running(other)) out.loser = other;
  return out;
}

Step Exchange::failed(unsigned which, const base::Error& error, Broke where, const Place& place,
                      TimePoint now) noexcept {
  Attempt& attempt = attempts_[which];
  assert(attempt.state != State::kFree);
  const bool connecting = attempt.state == State::kConnecting;
  const bool theirs = error.origin == base::Origin::kNode;
  const bool unsent = error.retry_safe;
  if (attempt.state == State::kTunnel) {  // it worked, and is over
    finished(which);
    return close(Reason::kBroken);
  }
  const bool begun = where == Broke::kInAnswer || attempt.state == State::kAnswering;
  const bool limit = theirs && !connecting && error.code == Code::kLimit;
  const bool stale = where == Broke::kReused && !connecting && !answered_ && !begun;
  Reason reason = Reason::kBroken;
  if (connecting) {
    if (theirs && place.upstream) {
      place.states.at(*place.upstream).refused.add(attempt.node, kRefused, now);
    }
    reason = error.code == Code::kTimeout ? Reason::kConnectTimeout
             : none_left(place, std::span(tried_).first(tried_count_), now)
                 ? Reason::kNoNode
                 : Reason::kConnectFailed;
  } else if (error.code == Code::kProtocol || error.code == Code::kLimit) {
    reason = error.code == Code::kLimit ? Reason::kAnswerTooLarge : Reason::kBadAnswer;
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
  const RetryOptions& retry = policy_->retry;
  const bool may = theirs && !answered_ && !begun && replayable_ && (unsent || idempotent_);
  if (may && stale && !stale_ && resends_ < std::max(1U, retry.attempts)) {
    stale_ = true;
    ++resends_;
    forgiven_ = static_cast<std::uint8_t>(tried_count_ - 1);
    step = again(place, reason, now);
  } else if (may && !stale && (unsent ? retry.connect : retry.broken) &&
             (unsent ? moves_ : resends_) < retry.attempts) {
    ++(unsent ? moves_ : resends_);
    step = again(place, reason, now);
  } else {
    step = close(reason);
  }
  step.urgent = urgent;
  return step;
}

// No head within `retry.timeout`: another node takes over, where one may; else it goes on.
Step Exchange::replace_slow(unsigned which, const Place& place, TimePoint now) noexcept {
  Step step;
  Chosen chosen = another(place, step, now);
  if (!chosen.at) {
    patient_ = true;
    return step;
  }
  ++resends_;
  count_failure(attempts_[which], Code::kTimeout);
  step = start(place, std::move(chosen), Picked::kRetry, now);
  step.urgent = true;
  return step;
}

Step Exchange::hedge(const Place& place, TimePoint now) noexcept {
  hedge_after_ = base::Duration::zero();  // once
  Step step;
  Chosen chosen = another(place, step, now);
  if (!chosen.at) return step;
  ++resends_;
  step = start(place, std::move(chosen), Picked::kHedge, now);
  step.hedge = true;
  return step;
}

}  // namespace steelyard::request
