#include "steelyard/pick/p2c.h"

#include "steelyard/pick/load.h"

namespace steelyard::pick {

P2c::P2c(const model::TableUpstream& upstream)
    : candidates_(Candidates::of(upstream)), draw_(candidates_) {}

std::unique_ptr<Cursor> P2c::make_cursor(base::Rng&) const { return std::make_unique<Cursor>(); }
void P2c::adopt(Cursor&) const {}

std::optional<Index> P2c::pick(const Input& in, Cursor&, base::Rng& rng) const noexcept {
  const auto first = draw_.draw(in, rng);
  if (!first) return std::nullopt;
  const auto second = draw_.draw(in, rng, *first);
  if (!second) return candidates_.index[*first];
  const Load a{in.slots.in_flight(candidates_.refs[*first]), candidates_.weight[*first]};
  const Load b{in.slots.in_flight(candidates_.refs[*second]), candidates_.weight[*second]};
  const bool idle = a.in_flight == 0 && b.in_flight == 0;
  return candidates_.index[!idle && compare(b, a) < 0 ? *second : *first];
}

}  // namespace steelyard::pick
