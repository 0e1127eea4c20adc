#include "steelyard/pick/least_connections.h"

#include <cassert>

#include "steelyard/pick/load.h"

namespace steelyard::pick {
namespace {

struct LeastConnectionsCursor final : Cursor {
  explicit LeastConnectionsCursor(std::uint64_t seed) : credits(seed) {}
  SmoothCredits credits;
  // Room for one pick: what is pickable and its in-flight as read once, since other workers move it
  // meanwhile.
  std::vector<Position> among;
  std::vector<std::uint32_t> in_flight;
};

// Keeps of `among` those that tie for the lowest load; gives how many.
std::size_t keep_lowest(const Candidates& candidates, LeastConnectionsCursor& mine,
                        std::size_t count) noexcept {
  std::size_t kept = 0;
  Load lowest;
  for (std::size_t i = 0; i < count; ++i) {
    const Position at = mine.among[i];
    const Load load{mine.in_flight[i], candidates.weight[at]};
    const auto order = kept == 0 ? std::strong_ordering::less : compare(load, lowest);
    if (order > 0) continue;
    if (order < 0) {
      kept = 0;
      lowest = load;
    }
    mine.among[kept++] = at;
  }
  return kept;
}

}  // namespace

LeastConnections::LeastConnections(const model::TableUpstream& upstream)
    : candidates_(Candidates::of(upstream)), rotation_(candidates_) {}

std::unique_ptr<Cursor> LeastConnections::cursor_at(std::uint64_t phase) {
  return std::make_unique<LeastConnectionsCursor>(phase);
}

std::unique_ptr<Cursor> LeastConnections::make_cursor(base::Rng& rng) const {
  auto cursor = cursor_at(rng());
  adopt(*cursor);
  return cursor;
}

void LeastConnections::adopt(Cursor& cursor) const {
  assert(dynamic_cast<LeastConnectionsCursor*>(&cursor) != nullptr);
  auto& mine = static_cast<LeastConnectionsCursor&>(cursor);
  rotation_.adopt(mine.credits);
  mine.among.resize(candidates_.size());
  mine.in_flight.resize(candidates_.size());
}

std::optional<Index> LeastConnections::pick(const Input& in, Cursor& cursor,
                                            base::Rng&) const noexcept {
  auto& mine = static_cast<LeastConnectionsCursor&>(cursor);
  std::size_t count = 0;
  bool idle = true;
  for (Position at = 0; at < candidates_.size(); ++at) {
    const model::NodeRef ref = candidates_.refs[at];
    if (!model::pickable(ref, in.tried, in.slots)) continue;
    const std::uint32_t in_flight = in.slots.in_flight(ref);
    idle = idle && in_flight == 0;
    mine.among[count] = at;
    mine.in_flight[count++] = in_flight;
  }
  if (count == 0) return std::nullopt;
  if (!idle) count = keep_lowest(candidates_, mine, count);
  return candidates_.index[rotation_.step({mine.among.data(), count}, mine.credits)];
}

}  // namespace steelyard::pick
