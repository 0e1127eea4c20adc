#include "steelyard/pick/keyed.h"

#include <cassert>

namespace steelyard::pick {
namespace {

constexpr std::size_t kPart = 16;  // of the nodes: picks for which a sum stands

struct KeyedCursor final : Cursor {
  std::size_t left = 0;
  std::uint64_t in_flight = 0;
};

}  // namespace

Keyed::Keyed(const Candidates& candidates, const KeyedOptions& options)
    : draw_(candidates),
      sum_(static_cast<double>(candidates.total)),
      bound_(options.bound.value_or(0)) {
  nodes_.reserve(candidates.size());
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    nodes_.push_back(
        {candidates.refs[i], candidates.index[i], static_cast<double>(candidates.weight[i])});
  }
}

std::unique_ptr<Cursor> Keyed::make_cursor(base::Rng&) const {
  return std::make_unique<KeyedCursor>();
}

void Keyed::adopt(Cursor& cursor) const {
  assert(dynamic_cast<KeyedCursor*>(&cursor) != nullptr);
  static_cast<KeyedCursor&>(cursor).left = 0;
}

std::optional<Index> Keyed::pick(const Input& in, Cursor& cursor, base::Rng& rng) const noexcept {
  if (nodes_.empty()) return std::nullopt;
  const std::uint64_t number = in.key ? *in.key : rng();
  const Takes takes(*this, in, bound_ > 0 ? each(in, cursor) : 0);
  if (const auto at = find(number, takes)) return nodes_[*at].index;
  base::Rng of_key(number);
  if (bound_ > 0) {  // while all can be taken one is below its part, so the bound holds
    std::size_t at = of_key.below(nodes_.size());
    for (std::size_t left = nodes_.size(); left > 0;
         --left, at = at + 1 == nodes_.size() ? 0 : at + 1) {
      if (takes(static_cast<Position>(at))) return nodes_[at].index;
    }
  }
  const auto at = draw_.draw(in, of_key);
  return at ? std::optional(nodes_[*at].index) : std::nullopt;
}

double Keyed::each(const Input& in, Cursor& cursor) const noexcept {
  auto& mine = static_cast<KeyedCursor&>(cursor);
  if (mine.left == 0) {
    mine.left = nodes_.size() / kPart + 1;
    mine.in_flight = 0;
    for (const Node& node : nodes_) mine.in_flight += in.slots.in_flight(node.ref);
  }
  --mine.left;
  return bound_ * (static_cast<double>(mine.in_flight) + 1) / sum_;
}

std::optional<double> Keyed::share(Index node) const noexcept {
  const auto at = std::find_if(nodes_.begin(), nodes_.end(),
                               [&](const Node& one) { return one.index == node; });
  return at == nodes_.end() ? 0 : shares()[static_cast<std::size_t>(at - nodes_.begin())];
}

}  // namespace steelyard::pick
