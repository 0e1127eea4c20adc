#include "steelyard/pick/maglev.h"

#include <algorithm>
#include <numeric>

#include "steelyard/pick/phase.h"

namespace steelyard::pick {
namespace {

constexpr std::uint32_t kLarge = 655373;  // a prime
constexpr int kPlaces = 16;

std::vector<Draw::Position> by_name(const model::TableUpstream& upstream,
                                    const Candidates& candidates) {
  std::vector<Draw::Position> out(candidates.size());
  std::iota(out.begin(), out.end(), 0);
  const auto name = [&](Draw::Position at) -> const std::string& {
    return upstream.nodes[candidates.index[at]].name;
  };
  std::sort(out.begin(), out.end(),
            [&](Draw::Position a, Draw::Position b) { return name(a) < name(b); });
  return out;
}

std::vector<MaglevTable::Owner> owners(const model::TableUpstream& upstream,
                                       const Candidates& candidates,
                                       const std::vector<Draw::Position>& order) {
  std::vector<MaglevTable::Owner> out;
  out.reserve(order.size());
  for (const auto at : order) {
    const auto& node = upstream.nodes[candidates.index[at]];
    out.push_back({node.name, node.weight});
  }
  return out;
}

}  // namespace

Maglev::Maglev(const model::TableUpstream& upstream, const MaglevOptions& options)
    : Maglev(upstream, Candidates::of(upstream), options) {}

Maglev::Maglev(const model::TableUpstream& upstream, const Candidates& candidates,
               const MaglevOptions& options)
    : Keyed(candidates, options.keyed),
      by_name_(by_name(upstream, candidates)),
      table_(owners(upstream, candidates, by_name_), options.large ? kLarge : MaglevTable::kSize) {}

std::optional<Keyed::Position> Maglev::find(std::uint64_t number,
                                            const Takes& takes) const noexcept {
  Phase other(number + 1);
  for (int left = kPlaces; left > 0; --left) {
    if (const Position at = by_name_[table_[number]]; takes(at)) return at;
    number = other.next();
  }
  return std::nullopt;
}

std::vector<double> Maglev::shares() const {
  std::vector<double> out(size(), 0);
  for (const auto owner : table_.places()) {
    out[by_name_[owner]] += 1 / static_cast<double>(table_.places().size());
  }
  return out;
}

}  // namespace steelyard::pick
