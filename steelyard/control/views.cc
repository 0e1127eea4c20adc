#include <algorithm>
#include <cmath>

#include "steelyard/control/state.h"
#include "steelyard/control/view.h"

namespace steelyard::control {
namespace {

// Where the oldest mark stands; nothing before two marks.
std::optional<std::size_t> oldest_mark(const Upstream& upstream) {
  if (upstream.marked < 2) return std::nullopt;
  return upstream.marked < kMarks ? 0 : upstream.next_mark;
}

// Mean of the workers that know one.
std::optional<base::Duration> base_latency_of(model::NodeRef ref, const model::Slots& slots) {
  std::uint64_t sum = 0, known = 0;
  for (std::uint32_t worker = 0; worker < slots.workers(); ++worker) {
    const auto ns = slots.cells(ref, worker).base_latency.read();
    sum += ns;
    known += ns != 0 ? 1 : 0;
  }
  if (known == 0) return std::nullopt;
  return base::Duration(static_cast<base::Duration::rep>(sum / known));
}

NodeView view_of(const Upstream& upstream, const Node& node, const model::Slots& slots,
                 base::TimePoint now) {
  NodeView v;
  v.name = node.spec.name;
  v.address = node.spec.address;
  v.ref = node.ref;
  v.base = node.spec.weight;
  v.control = node.control;
  v.wanted = node.wanted;
  v.ramp = node.gate.ramp();
  v.effective = node.weight;
  v.share_wanted = node.share;
  v.eligibility = node.eligibility;
  v.suspect = node.gate.suspect();
  v.ejections = node.gate.memory(now).ejections;
  v.reason =
      node.eligibility == model::Eligibility::kDraining ? "drained: weight 0" : node.gate.reason();
  v.last_decision = node.last_decision;
  v.last_decision_at = node.last_decision_at;
  v.override_ = node.override_;
  v.seen = node.observer.at(now);
  v.counts = node.meter.counts(slots);
  v.in_flight = slots.in_flight(node.ref);
  v.limit = slots.line(node.ref).limit();
  v.base_latency = base_latency_of(node.ref, slots);
  v.pooled = node.meter.pooled(slots);
  if (const auto oldest = oldest_mark(upstream)) {
    const double time = base::seconds(now - upstream.marks[*oldest]);
    const auto begun = node.meter.last().attempts - node.marks[*oldest];
    if (time > 0) v.rate = static_cast<double>(begun) / time;
  }
  if (v.rate > 0 && v.seen.latency_p50) {
    const double busy = v.rate * base::seconds(v.seen.latency_p50->value);
    // A mean hides bursts: what they opened and the pool kept is needed as well.
    const auto open = static_cast<double>(v.pooled + v.in_flight);
    v.pool_advice =
        static_cast<std::uint64_t>(std::ceil(std::max(1.5 * busy, open) / slots.workers()));
  }
  return v;
}

}  // namespace

std::vector<UpstreamView> Brain::views(base::TimePoint now) const {
  std::vector<UpstreamView> views;
  views.reserve(state_->upstreams.size());
  for (const auto& upstream : state_->upstreams) {
    UpstreamView& view = views.emplace_back();
    view.name = upstream->name();
    view.picker = upstream->setup.picker.kind->name;
    view.controller = upstream->weigher.controller();
    view.controller_why = upstream->weigher.controller_why();
    view.panic = upstream->panic;
    double rate = 0;
    for (const auto& node : upstream->nodes) {
      rate += view.nodes.emplace_back(view_of(*upstream, *node, state_->slots, now)).rate;
    }
    for (NodeView& node : view.nodes) {
      if (rate > 0) node.share_seen = node.rate / rate;
    }
    if (const auto gone = state_->gone.find(view.name); gone != state_->gone.end())
      view.gone = gone->second;
    for (const Leaving& leaving : state_->leaving) {
      if (leaving.id.upstream == view.name && !leaving.orphan)
        view.gone.add(leaving.meter.counts(state_->slots));
    }
  }
  return views;
}

Counts Brain::gone() const {
  Counts sum = state_->orphaned;
  for (const Leaving& leaving : state_->leaving) {
    if (leaving.orphan) sum.add(leaving.meter.counts(state_->slots));
  }
  return sum;
}

}  // namespace steelyard::control
