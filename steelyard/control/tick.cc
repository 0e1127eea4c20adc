// One tick of one upstream: traffic → health → observation → weights → panic → verdicts.

#include <algorithm>
#include <cmath>

#include "steelyard/control/explain.h"
#include "steelyard/control/state.h"
#include "steelyard/control/words.h"

namespace steelyard::control {
namespace {

void expire_override(Node& node, base::TimePoint now) {
  if (!node.override_ || now < node.override_->until) return;
  node.events.push_back({model::Change::kOverride, "override " + number(node.override_->weight) +
                                                       " by " + node.override_->by + " (" +
                                                       node.override_->reason + ") expired"});
  node.override_.reset();
}

bool is_drained(const Node& node) { return drained(node.factors()); }

// Traffic into the gate. The order of the nodes decides who is the last usable one; panic makes up
// for that.
void judge(Upstream& upstream, TickWork& work) {
  std::size_t healthy = 0;
  for (const auto& node : upstream.nodes)
    healthy += !is_drained(*node) && node->gate.healthy() ? 1 : 0;
  for (const auto& at : upstream.nodes) {
    Node& node = *at;
    const bool counted = !is_drained(node);
    const bool was = counted && node.gate.healthy();
    const auto& sample = node.meter.read(work.slots, work.now);
    node.observer.add(sample);
    node.gate.traffic(upstream.setup.health, sample, !counted || healthy > (was ? 1U : 0U),
                      upstream.panic);
    if (node.published && node.eligibility == model::Eligibility::kDraining && counted) {
      node.gate.restart_ramp(upstream.setup.health, work.now, "no longer drained");
    }
    node.gate.tick(upstream.setup.health, work.now);
    if (node.gate.streak_epoch() != node.streak_epoch) {
      node.streak_epoch = node.gate.streak_epoch();
      node.meter.restart_streaks(work.slots);
    }
    if (counted) healthy = healthy - (was ? 1 : 0) + (node.gate.healthy() ? 1 : 0);
    if (node.reported || work.now - node.seen_at >= kSeenFor) {
      node.seen = node.observer.at(work.now);
      node.seen_at = work.now;
      node.reported = false;
    }
  }
}

// A bound that is worked out anew each tick may come out an ulp apart: that is no change, and no
// new Table.
bool near(double a, double b) { return std::abs(a - b) <= 1e-9 * std::abs(a); }

void weigh_nodes(Upstream& upstream, TickWork& work) {
  work.inputs.clear();
  for (const auto& node : upstream.nodes) {
    const bool in_service =
        node->gate.eligibility() == model::Eligibility::kUsable && !is_drained(*node);
    work.inputs.push_back({node->ref, node->spec.name, node->spec.weight, &node->seen, in_service});
  }
  upstream.weigher.step(work.inputs, work.now, work.outcomes);
  for (std::size_t i = 0; i < upstream.nodes.size(); ++i) {
    Node& node = *upstream.nodes[i];
    const weigh::NodeOutcome& outcome = work.outcomes[i];
    if (!near(node.control, outcome.control)) node.control = outcome.control;
    node.wanted = outcome.wanted;
    if (!outcome.stages.empty()) node.stages = outcome.stages;
  }
}

// What holds for the whole upstream: which law runs, and whether it is blind.
void tell_law(Upstream& upstream, const TickWork& work, std::vector<model::Decision>& decisions) {
  const weigh::Weigher& weigher = upstream.weigher;
  if (upstream.law != weigher.controller()) {
    if (!upstream.law.empty()) {
      decisions.push_back(explain_law(upstream,
                                      "controller " +
                                          moved(upstream.law, std::string(weigher.controller())) +
                                          ": " + std::string(weigher.controller_why()),
                                      work));
    }
    upstream.law = weigher.controller();
  }
  if (upstream.frozen == weigher.frozen()) return;
  upstream.frozen = weigher.frozen();
  decisions.push_back(explain_law(
      upstream,
      upstream.frozen ? "no signal is known from any node: the last good weights are frozen"
                      : "signals are back: weights move again",
      work));
}

std::optional<model::Decision> judge_panic(Upstream& upstream, const TickWork& work) {
  std::size_t healthy = 0;
  std::size_t of = 0;
  for (const auto& node : upstream.nodes) {
    if (is_drained(*node)) continue;
    ++of;
    healthy += node->gate.healthy() ? 1 : 0;
  }
  const bool panic = panics(healthy, of);
  if (panic == upstream.panic) return std::nullopt;
  upstream.panic = panic;
  return explain_panic(upstream, healthy, of, work);
}

double lift_of(const Upstream& upstream) {
  if (!upstream.panic) return 1;
  double usable = 0;
  double others = 0;
  for (const auto& node : upstream.nodes) {
    (node->gate.healthy() ? usable : others) += effective_weight(node->factors());
  }
  return panic_lift(usable, others);
}

std::vector<Verdict> verdicts_of(const Upstream& upstream) {
  const double lift = lift_of(upstream);
  std::vector<Verdict> verdicts(upstream.nodes.size());
  double sum = 0;
  for (std::size_t i = 0; i < verdicts.size(); ++i) {
    const Node& node = *upstream.nodes[i];
    Verdict& v = verdicts[i];
    const Factors f = node.factors();
    v.eligibility = eligibility(f, node.gate.eligibility());
    v.lift = node.gate.healthy() ? lift : 1;
    v.weight = effective_weight(f) * v.lift;
    if (model::in_rotation(v.eligibility, upstream.panic)) sum += v.weight;
  }
  for (Verdict& v : verdicts) {
    v.share = sum > 0 && model::in_rotation(v.eligibility, upstream.panic) ? v.weight / sum : 0;
  }
  return verdicts;
}

// Attempts of now, once a second, for the shares that are seen.
void mark(Upstream& upstream, base::TimePoint now) {
  constexpr base::Duration kSpacing = std::chrono::seconds(1);
  const std::size_t last = (upstream.next_mark + kMarks - 1) % kMarks;
  if (upstream.marked > 0 && now - upstream.marks[last] < kSpacing) return;
  upstream.marks[upstream.next_mark] = now;
  for (const auto& node : upstream.nodes)
    node->marks[upstream.next_mark] = node->meter.last().attempts;
  upstream.next_mark = (upstream.next_mark + 1) % kMarks;
  upstream.marked = std::min(upstream.marked + 1, kMarks);
}

}  // namespace

bool tick_upstream(Upstream& upstream, TickWork& work, std::vector<model::Decision>& decisions) {
  for (const auto& node : upstream.nodes) expire_override(*node, work.now);
  judge(upstream, work);
  weigh_nodes(upstream, work);
  tell_law(upstream, work, decisions);
  auto panic = judge_panic(upstream, work);
  bool changed = panic.has_value();
  if (panic) decisions.push_back(std::move(*panic));
  const auto verdicts = verdicts_of(upstream);
  for (std::size_t i = 0; i < verdicts.size(); ++i) {
    Node& node = *upstream.nodes[i];
    const Verdict& v = verdicts[i];
    if (auto d = explain(upstream, node, v, work.outcomes[i], work)) {
      node.last_decision = d->reason;
      node.last_decision_at = d->at;
      decisions.push_back(std::move(*d));
    }
    changed =
        changed || !node.published || v.weight != node.weight || v.eligibility != node.eligibility;
    node.weight = v.weight;
    node.share = v.share;
    node.eligibility = v.eligibility;
    node.published = true;
    // A limit in panic would throttle the whole upstream to its trials.
    const std::uint32_t limit = upstream.panic ? 0 : node.gate.in_flight_limit();
    work.slots.line(node.ref).max_in_flight.store(limit, std::memory_order_relaxed);
  }
  mark(upstream, work.now);
  return changed;
}

}  // namespace steelyard::control
