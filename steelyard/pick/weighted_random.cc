#include "steelyard/pick/weighted_random.h"

namespace steelyard::pick {

WeightedRandom::WeightedRandom(const model::TableUpstream& upstream)
    : WeightedRandom(Candidates::of(upstream)) {}
WeightedRandom::WeightedRandom(const Candidates& candidates)
    : index_(candidates.index), draw_(candidates) {}

std::unique_ptr<Cursor> WeightedRandom::make_cursor(base::Rng&) const {
  return std::make_unique<Cursor>();
}
void WeightedRandom::adopt(Cursor&) const {}

std::optional<Index> WeightedRandom::pick(const Input& in, Cursor&, base::Rng& rng) const noexcept {
  const auto at = draw_.draw(in, rng);
  return at ? std::optional(index_[*at]) : std::nullopt;
}

}  // namespace steelyard::pick
