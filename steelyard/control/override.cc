#include <cmath>
#include <utility>

#include "steelyard/base/nearest.h"
#include "steelyard/control/state.h"
#include "steelyard/control/words.h"
#include "steelyard/health/words.h"

namespace steelyard::control {
namespace {

base::Error refuse(base::Code code, std::string text) {
  return {code, base::Origin::kOperator, false, std::move(text)};
}

std::string not_found(std::string_view what, std::string_view name,
                      const std::vector<std::string_view>& known) {
  std::string text = "there is no " + std::string(what) + " \"" + std::string(name) + '"';
  const std::string_view near = base::nearest(name, known);
  return near.empty() ? text : text + ", did you mean \"" + std::string(near) + "\"?";
}

}  // namespace

// The one node of that name, in the given upstream or in any.
base::Result<Node*> Brain::State::find_unique(std::string_view upstream,
                                              std::string_view node) const {
  std::vector<Node*> found;
  std::vector<std::string_view> known;
  bool upstream_known = upstream.empty();
  for (const auto& u : upstreams) {
    if (!upstream.empty() && u->name() != upstream) continue;
    upstream_known = true;
    for (const auto& n : u->nodes) {
      known.push_back(n->spec.name);
      if (n->spec.name == node) found.push_back(n.get());
    }
  }
  if (!upstream_known) {
    known.clear();
    for (const auto& u : upstreams) known.push_back(u->name());
    return refuse(base::Code::kNotFound, not_found("upstream", upstream, known));
  }
  if (found.empty()) return refuse(base::Code::kNotFound, not_found("node", node, known));
  if (found.size() == 1) return found.front();
  std::string text = "several upstreams have a node \"" + std::string(node) + "\", name one of:";
  for (const Node* n : found) text += ' ' + n->upstream->name();
  return refuse(base::Code::kConflict, std::move(text));
}

base::Result<model::NodeId> Brain::set_override(const OverrideRequest& request,
                                                base::TimePoint now) {
  if (!std::isfinite(request.weight) || request.weight < 0) {
    return refuse(base::Code::kInvalid, "weight must be a number from 0");
  }
  if (request.until <= now)
    return refuse(base::Code::kInvalid, "the override would have ended already");
  auto found = state_->find_unique(request.upstream, request.node);
  if (!found) return found.error();
  Node& node = **found;
  node.override_ = model::Override{request.weight, std::string(request.reason),
                                   std::string(request.by), now, request.until};
  node.events.push_back({request.weight > 0 ? model::Change::kOverride : model::Change::kDrain,
                         (request.weight > 0 ? "override " + number(request.weight) + " set"
                                             : std::string("drained")) +
                             " by " + node.override_->by + " (" + node.override_->reason +
                             ") for " + health::in_words(request.until - now)});
  return model::NodeId{node.upstream->name(), node.spec.name};
}

base::Result<model::NodeId> Brain::clear_override(std::string_view upstream, std::string_view name,
                                                  base::TimePoint now) {
  auto found = state_->find_unique(upstream, name);
  if (!found) return found.error();
  Node& node = **found;
  if (node.override_ && now < node.override_->until) {  // else the next tick tells that it expired
    node.events.push_back({model::Change::kOverride, "override " + number(node.override_->weight) +
                                                         " by " + node.override_->by + " ended"});
    node.override_.reset();
  }
  return model::NodeId{node.upstream->name(), node.spec.name};
}

}  // namespace steelyard::control
