#include "steelyard/pick/draw.h"

#include <algorithm>

namespace steelyard::pick {
namespace {

__extension__ using u128 = unsigned __int128;

// Draws before going through the list. With half of the weight not pickable 1 request in 256 gets
// there (guess).
constexpr int kTries = 8;

}  // namespace

Draw::Draw(const Candidates& candidates) : upto_(candidates.size() + 1, 0), refs_(candidates.refs) {
  for (std::size_t i = 0; i < refs_.size(); ++i) upto_[i + 1] = upto_[i] + candidates.weight[i];
  build_alias(candidates);
}

// Weights times n, so that a full column holds `total`: 46 + 17 bits, exact.
void Draw::build_alias(const Candidates& candidates) {
  const std::size_t n = candidates.size();
  const auto full = static_cast<std::uint64_t>(candidates.total);
  columns_.resize(n, Column{.keep = UINT64_MAX, .alias = 0});
  std::vector<std::uint64_t> left(n);
  std::vector<Position> small, large;
  for (Position i = 0; i < n; ++i) {
    columns_[i].alias = i;
    left[i] = static_cast<std::uint64_t>(candidates.weight[i]) * n;
    (left[i] < full ? small : large).push_back(i);
  }
  while (!small.empty() && !large.empty()) {
    const Position low = small.back();
    const Position high = large.back();
    small.pop_back();
    columns_[low] = {static_cast<std::uint64_t>((static_cast<u128>(left[low]) << 64) / full), high};
    left[high] -= full - left[low];
    if (left[high] < full) {
      large.pop_back();
      small.push_back(high);
    }
  }
}

double Draw::probability(Position i) const noexcept {
  return columns_[i].alias == i ? 1 : static_cast<double>(columns_[i].keep) * 0x1p-64;
}

Draw::Position Draw::any(base::Rng& rng) const noexcept {
  // The high half of the product is the column, the low half is uniform within it.
  const auto product = static_cast<u128>(rng()) * columns_.size();
  const auto at = static_cast<Position>(product >> 64);
  return static_cast<std::uint64_t>(product) < columns_[at].keep ? at : columns_[at].alias;
}

Draw::Position Draw::other(base::Rng& rng, Position but) const noexcept {
  const std::int64_t weight = upto_[but + 1] - upto_[but];
  auto at = static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(upto_.back() - weight)));
  if (at >= upto_[but]) at += weight;
  return static_cast<Position>(std::upper_bound(upto_.begin(), upto_.end(), at) - upto_.begin() -
                               1);
}

std::optional<Draw::Position> Draw::draw(const Input& in, base::Rng& rng,
                                         Position but) const noexcept {
  if (refs_.size() < (but == kNone ? 1U : 2U)) return std::nullopt;
  for (int i = 0; i < kTries; ++i) {
    const Position at = but == kNone ? any(rng) : other(rng, but);
    if (model::pickable(refs_[at], in.tried, in.slots)) return at;
  }
  return through_the_list(in, rng, but);
}

std::optional<Draw::Position> Draw::through_the_list(const Input& in, base::Rng& rng,
                                                     Position but) const noexcept {
  std::optional<Position> chosen;
  std::int64_t sum = 0;
  for (Position i = 0; i < refs_.size(); ++i) {
    if (i == but || !model::pickable(refs_[i], in.tried, in.slots)) continue;
    const std::int64_t weight = upto_[i + 1] - upto_[i];
    sum += weight;
    if (static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(sum))) < weight) chosen = i;
  }
  return chosen;
}

}  // namespace steelyard::pick
