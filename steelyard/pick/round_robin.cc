#include "steelyard/pick/round_robin.h"

#include <algorithm>
#include <cassert>

#include "steelyard/pick/candidates.h"

namespace steelyard::pick {
namespace {

struct RoundRobinCursor final : Cursor {
  explicit RoundRobinCursor(std::uint64_t seed) : phase(seed) {}
  Phase phase;
  model::NodeRef last;   // picked last; none yet: not valid
  std::size_t next = 0;  // its successor in the picker last adopted
};

}  // namespace

RoundRobin::RoundRobin(const model::TableUpstream& upstream) {
  const auto candidates = Candidates::of(upstream);
  turns_.reserve(candidates.size());
  for (std::uint32_t i = 0; i < candidates.size(); ++i)
    turns_.push_back({candidates.refs[i], candidates.index[i]});
  std::sort(turns_.begin(), turns_.end(),
            [](const Turn& a, const Turn& b) { return a.ref < b.ref; });
}

std::unique_ptr<Cursor> RoundRobin::cursor_at(std::uint64_t phase) {
  return std::make_unique<RoundRobinCursor>(phase);
}

std::unique_ptr<Cursor> RoundRobin::make_cursor(base::Rng& rng) const {
  auto cursor = cursor_at(rng());
  adopt(*cursor);
  return cursor;
}

void RoundRobin::adopt(Cursor& cursor) const {
  assert(dynamic_cast<RoundRobinCursor*>(&cursor) != nullptr);
  auto& mine = static_cast<RoundRobinCursor&>(cursor);
  if (turns_.empty()) return;
  if (!mine.last.valid()) {
    mine.next = mine.phase.below(turns_.size());
    return;
  }
  const auto after =
      std::upper_bound(turns_.begin(), turns_.end(), mine.last,
                       [](model::NodeRef last, const Turn& turn) { return last < turn.ref; });
  mine.next = after == turns_.end() ? 0 : static_cast<std::size_t>(after - turns_.begin());
}

std::optional<Index> RoundRobin::pick(const Input& in, Cursor& cursor, base::Rng&) const noexcept {
  auto& mine = static_cast<RoundRobinCursor&>(cursor);
  std::size_t at = mine.next;
  for (std::size_t left = turns_.size(); left > 0; --left) {
    const Turn& turn = turns_[at];
    at = at + 1 == turns_.size() ? 0 : at + 1;
    if (!model::pickable(turn.ref, in.tried, in.slots)) continue;
    mine.last = turn.ref;
    mine.next = at;
    return turn.index;
  }
  return std::nullopt;
}

}  // namespace steelyard::pick
