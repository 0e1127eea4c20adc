#include "steelyard/pick/turns.h"

#include <algorithm>

#include "steelyard/pick/phase.h"

namespace steelyard::pick {

Turns::Turns(const model::TableUpstream& upstream, Weigh weigh, Order order)
    : Turns(upstream, Candidates::of(upstream), weigh, order) {}

Turns::Turns(const model::TableUpstream& upstream, const Candidates& candidates, Weigh weigh,
             Order order)
    : index_(candidates.index), draw_(candidates) {
  std::vector<double> weights;
  weights.reserve(index_.size());
  for (const Index i : index_) weights.push_back(upstream.nodes[i].weight);
  const auto whole = weigh(weights);
  turns_.reserve(index_.size());
  for (std::size_t i = 0; i < index_.size(); ++i) {
    turns_.push_back({candidates.refs[i], index_[i], whole[i]});
    sum_ += whole[i];
  }
  if (order == Order::kByNodeRef) {
    std::sort(turns_.begin(), turns_.end(),
              [](const Turn& a, const Turn& b) { return a.ref < b.ref; });
  }
  for (const Turn& turn : turns_) {
    for (const std::uint64_t part : {turn.ref.slot, turn.ref.generation, turn.weight})
      list_ = Phase(list_ + part + 1).next();
  }
  if (list_ == 0) list_ = 1;
}

double Turns::share(Index node) const noexcept {
  const auto at = std::find_if(turns_.begin(), turns_.end(),
                               [&](const Turn& turn) { return turn.index == node; });
  return at == turns_.end() ? 0 : at->weight / static_cast<double>(sum_);
}

std::optional<Index> Turns::draw(const Input& in, base::Rng& rng) const noexcept {
  const auto at = draw_.draw(in, rng);
  return at ? std::optional(index_[*at]) : std::nullopt;
}

}  // namespace steelyard::pick
