// Picking, starting, counting and ending; what is tried again is in retry.cc, time in deadlines.cc.
#include "steelyard/request/exchange.h"

#include <algorithm>
#include <cassert>

namespace steelyard::request {

using base::Code;
using base::TimePoint;

std::optional<std::uint64_t> key_of(const Place& place, const Facts& facts) noexcept {
  if (!place.upstream || !place.table.kinds[*place.upstream]->keyed) return std::nullopt;
  KeySource::Room room;
  const auto text = place.states.at(*place.upstream).key.text(facts, room);
  if (!text) return std::nullopt;
  return place.table.pickers[*place.upstream]->number(*text);
}

Step Exchange::begin(const Policy& policy, const Request& request, const Place& place,
                     TimePoint now) noexcept {
  assert(!running(0) && !running(1) && !waiting());
  policy_ = &policy;
  key_ = request.key;
  began_ = moved_ = now;
  tried_count_ = tries_ = moves_ = resends_ = 0;
  idempotent_ = request.idempotent;
  replayable_ = true;
  whole_ = answered_ = patient_ = stale_ = false;
  reason_ = Reason::kNone;
  forgiven_.reset();
  end_by_ = TimePoint::max();
  if (policy.timeouts.total) end_by_ = now + *policy.timeouts.total;
  if (request.given) end_by_ = std::min(end_by_, now + *request.given);
  if (!place.upstream) return close(Reason::kNoUpstream);
  if (now >= end_by_) return close(Reason::kTotalTimeout);
  place.states.at(*place.upstream).budget.request(now);
  set_times(place, now);
  return first(place, now);
}

// The times that follow from what the upstream has shown.
void Exchange::set_times(const Place& place, TimePoint now) noexcept {
  constexpr base::Duration kLeastHead = std::chrono::milliseconds(50);  // guess: above scheduling
  const auto& policy = *policy_;
  head_limit_ = policy.timeouts.head;
  hedge_after_ = base::Duration::zero();
  const bool measured = policy.timeouts.head_factor || (policy.hedge && !policy.hedge->after);
  if (policy.hedge && policy.hedge->after) hedge_after_ = *policy.hedge->after;
  if (!measured) return;
  const auto& seen = place.states.at(*place.upstream).latency.quantiles(now);
  if (!seen) return;
  if (policy.timeouts.head_factor) {
    const auto derived =
        base::from_seconds(*policy.timeouts.head_factor * base::seconds(seen->p99));
    head_limit_ = std::min(head_limit_, std::max(kLeastHead, derived));
  }
  if (policy.hedge && !policy.hedge->after) {
    hedge_after_ = std::max(policy.hedge->least, seen->p95);
  }
}

// The first attempt; or a place in the queue; or an answer that says why not.
Step Exchange::first(const Place& place, TimePoint now) noexcept {
  UpstreamState& state = place.states.at(*place.upstream);
  const QueueOptions& queue = state.rules.queue;
  Chosen chosen;
  if (waiting() || state.queue.empty()) chosen = choose(place, std::nullopt, now);
  if (chosen.at) {
    const Picked how = waiting() ? Picked::kQueued : Picked::kFirst;
    leave();
    return start(place, std::move(chosen), how, now);
  }
  const auto& upstream = place.table.model->upstreams[*place.upstream];
  const bool busy =
      chosen.busy || std::any_of(upstream.nodes.begin(), upstream.nodes.end(), [&](const auto& n) {
        return model::in_rotation(n.eligibility, upstream.panic);
      });
  if (!busy) {
    leave();
    return close(Reason::kNoNode);
  }
  if (waiting()) return {};
  if (queue.size == 0) return close(Reason::kAllBusy);
  if (state.queue.size() >= queue.size) return close(Reason::kQueueFull);
  wait_until_ = now + queue.timeout;
  state.queue.push(*this);
  return {};
}

Step Exchange::wake(const Place& place, TimePoint now) noexcept {
  assert(waiting());
  if (place.upstream) return first(place, now);
  leave();
  return close(Reason::kNoUpstream);
}

// Asks the picker until a reservation holds. `without`: its first `count` are not to be picked; the
// rest is room.
Exchange::Chosen Exchange::choose_among(const Place& place, std::span<model::NodeRef> without,
                                        std::size_t count) const noexcept {
  Chosen out;
  const auto upstream = *place.upstream;
  const auto& nodes = place.table.model->upstreams[upstream].nodes;
  for (;;) {
    const pick::Input input{place.slots, without.first(count), key_};
    const auto at = place.cursors.pick(place.table, upstream, input, place.rng);
    if (!at) return out;
    if (auto taken = model::InFlight::acquire(place.slots.line(nodes[*at].ref))) {
      out.token = std::move(*taken);
      out.at = at;
      return out;
    }
    out.busy = true;  // another worker took the last permit between the look and the reservation
    if (count == without.size()) return out;
    without[count++] = nodes[*at].ref;
  }
}

// `forgive`: a place in `tried_` that may be picked again. A first attempt goes to a node that
// asked for rest where there is no other.
Exchange::Chosen Exchange::choose(const Place& place, std::optional<std::uint8_t> forgive,
                                  TimePoint now) const noexcept {
  constexpr std::size_t kRoom = 16;
  std::array<model::NodeRef, kTried + Rests::kMost + kRoom> without;
  std::size_t count = 0;
  for (std::uint8_t i = 0; i < tried_count_; ++i) {
    if (i != forgive) without[count++] = tried_[i];
  }
  Rests& rests = place.states.at(*place.upstream).rests;
  if (rests.empty()) return choose_among(place, without, count);
  const auto resting = rests.copy(std::span(without).subspan(count, Rests::kMost), now);
  Chosen chosen = choose_among(place, without, count + resting);
  if (chosen.at || tries_ > 0 || resting == 0) return chosen;
  return choose_among(place, without, count);
}

Step Exchange::start(const Place& place, Chosen chosen, Picked how, TimePoint now) noexcept {
  const auto& upstream = place.table.model->upstreams[*place.upstream];
  const auto& node = upstream.nodes[*chosen.at];
  const unsigned which = running(0) ? 1 : 0;
  assert(!running(which));
  Attempt& attempt = attempts_[which];
  attempt.state = State::kConnecting;
  attempt.picked = how;
  attempt.panic = upstream.panic;
  attempt.status = 0;
  attempt.at = *chosen.at;
  attempt.node = node.ref;
  attempt.began = moved_ = now;
  attempt.connect.reset();
  attempt.head.reset();
  last_ = static_cast<std::uint8_t>(which);
  attempt.token = std::move(chosen.token);
  attempt.cells = &place.slots.cells(node.ref, place.worker);
  attempt.cells->attempts.add(1);
  if (tries_ > 0) attempt.cells->retries.add(1);
  attempt.turn = tried_count_;
  if (tried_count_ < kTried) {
    answered_with_[tried_count_] = 0;
    tried_[tried_count_++] = node.ref;
  }
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
  if (attempt.state == State::kConnecting) {
    attempt.state = State::kSending;
    attempt.connect = now - attempt.began;
  }
  moved_ = now;
}

void Exchange::sent(unsigned which, TimePoint now) noexcept {
  Attempt& attempt = attempts_[which];
  if (attempt.state != State::kSending) return;
  attempt.state = State::kWaiting;
  attempt.sent = moved_ = now;
}

void Exchange::tunnel(unsigned which, base::Duration idle) noexcept {
  attempts_[which].state = State::kTunnel;
  tunnel_idle_ = idle;
  end_by_ = TimePoint::max();
  policy_ = nullptr;
}

Summary Exchange::summary() const noexcept {
  Summary out;
  out.tries = tries_;
  out.reason = reason_;
  if (tries_ == 0) return out;
  const Attempt& attempt = attempts_[last_];
  out.node = attempt.node;
  out.node_status = attempt.status;
  out.connect = attempt.connect;
  out.head = attempt.head;
  out.picked = attempt.picked;
  out.panic = attempt.panic;
  out.began = attempt.began;
  for (std::size_t i = 0; i < tried_count_; ++i) {
    if (i == attempt.turn) continue;
    if (out.earlier_count == Summary::kEarlier) {
      std::move(out.earlier.begin() + 1, out.earlier.end(), out.earlier.begin());
      --out.earlier_count;
    }
    out.earlier[out.earlier_count++] = {tried_[i], answered_with_[i]};
  }
  return out;
}

void Exchange::finished(unsigned which) noexcept {
  Attempt& attempt = attempts_[which];
  if (attempt.state == State::kFree) return;
  end(attempt, attempt.status < 500 ? Outcome::kSuccess : Outcome::kFailure);
}

void Exchange::give_up(unsigned which) noexcept {
  Attempt& attempt = attempts_[which];
  if (attempt.state == State::kFree) return;
  if (attempt.state != State::kAnswering && attempt.state != State::kTunnel) {
    return end(attempt, Outcome::kUncounted);
  }
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
  step.reason = reason_ = reason;
  return step;
}

}  // namespace steelyard::request
