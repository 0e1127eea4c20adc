#include "steelyard/pick/smooth_weighted_round_robin.h"

#include <cassert>

namespace steelyard::pick {
namespace {

struct SmoothCursor final : Cursor {
  explicit SmoothCursor(std::uint64_t seed) : credits(seed) {}
  SmoothCredits credits;
  std::vector<Position> among;  // room for the pickable of one pick
};

}  // namespace

SmoothWeightedRoundRobin::SmoothWeightedRoundRobin(const model::TableUpstream& upstream)
    : candidates_(Candidates::of(upstream)), rotation_(candidates_) {}

std::unique_ptr<Cursor> SmoothWeightedRoundRobin::cursor_at(std::uint64_t phase) {
  return std::make_unique<SmoothCursor>(phase);
}

std::unique_ptr<Cursor> SmoothWeightedRoundRobin::make_cursor(base::Rng& rng) const {
  auto cursor = cursor_at(rng());
  adopt(*cursor);
  return cursor;
}

void SmoothWeightedRoundRobin::adopt(Cursor& cursor) const {
  assert(dynamic_cast<SmoothCursor*>(&cursor) != nullptr);
  auto& mine = static_cast<SmoothCursor&>(cursor);
  rotation_.adopt(mine.credits);
  mine.among.resize(candidates_.size());
}

std::optional<Index> SmoothWeightedRoundRobin::pick(const Input& in, Cursor& cursor,
                                                    base::Rng&) const noexcept {
  auto& mine = static_cast<SmoothCursor&>(cursor);
  std::size_t count = 0;
  for (Position at = 0; at < candidates_.size(); ++at) {
    if (model::pickable(candidates_.refs[at], in.tried, in.slots)) mine.among[count++] = at;
  }
  if (count == 0) return std::nullopt;
  return candidates_.index[rotation_.step({mine.among.data(), count}, mine.credits)];
}

}  // namespace steelyard::pick
