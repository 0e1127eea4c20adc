// Boot and reload: from a Setup to upstreams and nodes, keeping what was learned by (upstream,
// name).

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "steelyard/control/same.h"
#include "steelyard/control/state.h"
#include "steelyard/control/words.h"

namespace steelyard::control {
namespace {

base::Error invalid(std::string text) {
  return {base::Code::kInvalid, base::Origin::kOperator, false, std::move(text)};
}

base::Result<void> validate(const Setup& setup) {
  std::set<std::string_view> upstreams;
  for (const UpstreamSetup& upstream : setup.upstreams) {
    const std::string& name = upstream.spec.name;
    if (name.empty()) return invalid("an upstream has no name");
    if (!upstreams.insert(name).second) return invalid("upstream " + name + " is there twice");
    std::set<std::string_view> nodes;
    for (const model::NodeSpec& node : upstream.spec.nodes) {
      if (node.name.empty()) return invalid("upstream " + name + ": a node has no name");
      if (!nodes.insert(node.name).second)
        return invalid("upstream " + name + ": node " + node.name + " is there twice");
      if (!node.address.valid())
        return invalid("upstream " + name + ": node " + node.name + " has no address");
      if (!std::isfinite(node.weight) || node.weight < 0) {
        return invalid("upstream " + name + ": node " + node.name + ": its weight is no weight");
      }
    }
  }
  return {};
}

// The node that this spec goes on with: the same name at the same address.
Node* survivor(const Upstream* old, const model::NodeSpec& spec) {
  Node* node = old == nullptr ? nullptr : old->find(spec.name);
  return node != nullptr && node->spec.address == spec.address ? node : nullptr;
}

std::unique_ptr<Node> take(Upstream& from, const Node* node) {
  for (auto& at : from.nodes) {
    if (at.get() == node) return std::move(at);
  }
  return nullptr;
}

void update(Node& node, const model::NodeSpec& spec) {
  if (node.spec.weight != spec.weight) {
    node.events.push_back(
        {spec.weight > 0 ? model::Change::kWeight : model::Change::kDrain,
         "configured weight " + moved(number(node.spec.weight), number(spec.weight))});
  }
  node.spec = spec;
}

std::unique_ptr<Upstream> renew(UpstreamSetup setup, Upstream* old) {
  if (old == nullptr) return std::make_unique<Upstream>(std::move(setup));
  const bool same_law = same(old->setup.weigh, setup.weigh) && old->setup.reloads == setup.reloads;
  auto next = std::make_unique<Upstream>(std::move(setup));
  if (same_law) next->weigher = std::move(old->weigher);
  next->panic = old->panic;
  next->frozen = same_law && old->frozen;
  next->law = old->law;
  next->marks = old->marks;
  next->next_mark = old->next_mark;
  next->marked = old->marked;
  if (same_law) return next;
  for (const auto& node : old->nodes) next->weigher.restore(node->ref, node->control);
  return next;
}

bool same_observers(const sense::ObserverOptions& a, const sense::ObserverOptions& b) {
  return a.interval == b.interval && a.expiry == b.expiry && a.score_window == b.score_window &&
         a.alpha == b.alpha;
}

}  // namespace

sense::ObserverOptions observer_options(const UpstreamSetup& setup) {
  sense::ObserverOptions options;
  if (setup.sense.score) {
    options.interval = setup.sense.score->interval;
    options.expiry = setup.sense.score->expiry;
  }
  options.score_window = setup.weigh.smooth.window;
  options.alpha = setup.weigh.smooth.alpha;
  return options;
}

void Brain::State::leave(Node& node, base::TimePoint now) {
  model::Decision d;
  d.at = now;
  d.node = {node.upstream->name(), node.spec.name};
  d.change = model::Change::kOut;
  d.base = node.spec.weight;
  d.wanted = node.wanted;
  d.from = node.weight;
  d.to = 0;
  d.eligibility = model::Eligibility::kOut;
  d.seen = node.seen;
  d.reason = node.spec.name + " left: it is not configured at " + node.spec.address.to_text() +
             " any more";
  if (node.published) pending.push_back(std::move(d));
  by_slot[node.ref.slot] = nullptr;
  leaving.push_back({{node.upstream->name(), node.spec.name},
                     node.ref,
                     std::move(node.meter),
                     0,
                     node.published});
}

// What an upstream that left counted stays counted: not under its name, which may come back and
// counts from zero then.
void Brain::State::orphan(const std::string& upstream) {
  for (Leaving& node : leaving) node.orphan = node.orphan || node.id.upstream == upstream;
  const auto found = gone.find(upstream);
  if (found == gone.end()) return;
  orphaned.add(found->second);
  gone.erase(found);
}

// The nodes of one upstream in their new order; `claimed` gives slots to those that are new.
void Brain::State::settle(Upstream& next, Upstream* old, std::vector<model::NodeRef>& claimed,
                          base::TimePoint now) {
  const auto& specs = next.setup.spec.nodes;
  const sense::ObserverOptions observe = observer_options(next.setup);
  const bool other_observers =
      old != nullptr && !same_observers(observe, observer_options(old->setup));
  const bool joins = std::any_of(specs.begin(), specs.end(),
                                 [&](const auto& spec) { return survivor(old, spec) != nullptr; });
  for (const model::NodeSpec& spec : specs) {
    if (const Node* kept = survivor(old, spec)) {
      auto node = take(*old, kept);
      update(*node, spec);
      if (other_observers) {
        node->observer = sense::Observer(observe);
        node->reported = true;
      }
      next.nodes.push_back(std::move(node));
    } else {
      const model::NodeRef ref = claimed.back();
      claimed.pop_back();
      health::Gate gate(next.setup.health,
                        joins ? health::Start::kJoining : health::Start::kWithAll, now);
      auto node = std::make_unique<Node>(slots, spec, ref, std::move(gate), observe);
      // Under an old name at a new address: all that was learned goes, a person's word stays.
      if (const Node* former = old == nullptr ? nullptr : old->find(spec.name)) {
        node->override_ = former->override_;
        node->events.push_back({model::Change::kRamp,
                                "starts anew at another address: " +
                                    moved(former->spec.address.to_text(), spec.address.to_text())});
      }
      next.nodes.push_back(std::move(node));
    }
    Node& node = *next.nodes.back();
    node.upstream = &next;
    by_slot[node.ref.slot] = &node;
  }
}

base::Result<void> Brain::configure(Setup setup, base::TimePoint now) {
  if (auto valid = validate(setup); !valid) return valid.error();
  State& s = *state_;
  // Slots first: without them nothing may change.
  std::vector<model::NodeRef> claimed;
  for (const UpstreamSetup& upstream : setup.upstreams) {
    const Upstream* old = s.find(upstream.spec.name);
    for (const model::NodeSpec& spec : upstream.spec.nodes) {
      if (survivor(old, spec) != nullptr) continue;
      const auto ref = s.slots.claim();
      if (!ref) {
        for (const model::NodeRef r : claimed) s.slots.release(r);
        return base::Error{
            base::Code::kLimit, base::Origin::kUs, false,
            "no room for more nodes: all " + std::to_string(s.slots.capacity()) +
                " slots are in use, also by nodes that left and still have requests"};
      }
      claimed.push_back(*ref);
    }
  }
  std::reverse(claimed.begin(), claimed.end());

  std::vector<std::unique_ptr<Upstream>> next;
  for (UpstreamSetup& upstream : setup.upstreams) {
    if (upstream.picker.kind == nullptr) upstream.picker = pick::find(pick::kDefaultPicker);
    Upstream* old = s.find(upstream.spec.name);
    next.push_back(renew(std::move(upstream), old));
    s.settle(*next.back(), old, claimed, now);
  }
  for (const auto& old : s.upstreams) {
    Upstream* stays = nullptr;
    for (const auto& n : next) stays = n->name() == old->name() ? n.get() : stays;
    for (const auto& node : old->nodes) {
      if (node == nullptr) continue;  // moved on
      if (stays != nullptr) stays->weigher.forget(node->ref);
      s.leave(*node, now);
    }
    if (stays == nullptr) s.orphan(old->name());
  }
  s.upstreams = std::move(next);
  s.restructured = true;
  return {};
}

}  // namespace steelyard::control
