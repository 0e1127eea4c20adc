#include "steelyard/control/state.h"
#include "steelyard/control/view.h"

namespace steelyard::control {
namespace {

// Where the oldest mark stands; nothing before two marks.
std::optional<std::size_t> oldest_mark(const Upstream& upstream) {
  if (upstream.marked < 2) return std::nullopt;
  return upstream.marked < kMarks ? 0 : upstream.next_mark;
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
  v.pooled = node.meter.pooled(slots);
  if (const auto oldest = oldest_mark(upstream)) {
    const double time = base::seconds(now - upstream.marks[*oldest]);
    const auto begun = node.meter.last().attempts - node.marks[*oldest];
    if (time > 0) v.rate = static_cast<double>(begun) / time;
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
    view.picker = upstream->setup.picker->name;
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
      if (leaving.id.upstream == view.name) view.gone.add(leaving.meter.counts(state_->slots));
    }
  }
  return views;
}

}  // namespace steelyard::control
