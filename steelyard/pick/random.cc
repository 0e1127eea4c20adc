#include "steelyard/pick/random.h"

#include <algorithm>

namespace steelyard::pick {
namespace {

Candidates all_equal(const model::TableUpstream& upstream) {
  auto out = Candidates::of(upstream);
  std::fill(out.weight.begin(), out.weight.end(), 1);
  out.total = out.size();
  return out;
}

}  // namespace

Random::Random(const model::TableUpstream& upstream) : Random(all_equal(upstream)) {}
Random::Random(const Candidates& candidates) : index_(candidates.index), draw_(candidates) {}

std::unique_ptr<Cursor> Random::make_cursor(base::Rng&) const { return std::make_unique<Cursor>(); }
void Random::adopt(Cursor&) const {}

std::optional<Index> Random::pick(const Input& in, Cursor&, base::Rng& rng) const noexcept {
  const auto at = draw_.draw(in, rng);
  return at ? std::optional(index_[*at]) : std::nullopt;
}

}  // namespace steelyard::pick
