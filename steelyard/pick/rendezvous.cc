#include "steelyard/pick/rendezvous.h"

#include <limits>

namespace steelyard::pick {

Rendezvous::Rendezvous(const model::TableUpstream& upstream, const KeyedOptions& options)
    : Rendezvous(upstream, Candidates::of(upstream), options) {}

Rendezvous::Rendezvous(const model::TableUpstream& upstream, const Candidates& candidates,
                       const KeyedOptions& options)
    : Keyed(candidates, options) {
  nodes_.reserve(candidates.size());
  for (const Index i : candidates.index) {
    nodes_.push_back({base::xxh3(upstream.nodes[i].name), upstream.nodes[i].weight});
  }
}

std::optional<Keyed::Position> Rendezvous::find(std::uint64_t number,
                                                const Takes& takes) const noexcept {
  std::optional<Position> best;
  double lowest = std::numeric_limits<double>::infinity();
  for (Position at = 0; at < nodes_.size(); ++at) {
    const double cost = rendezvous_cost(number, nodes_[at].identity, nodes_[at].weight);
    if (cost >= lowest || !takes(at)) continue;
    lowest = cost;
    best = at;
  }
  return best;
}

std::vector<double> Rendezvous::shares() const {
  double sum = 0;
  for (const Node& node : nodes_) sum += node.weight;
  std::vector<double> out;
  for (const Node& node : nodes_) out.push_back(node.weight / sum);
  return out;
}

}  // namespace steelyard::pick
