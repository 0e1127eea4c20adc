#include "steelyard/pick/stride.h"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "steelyard/pick/phase.h"

namespace steelyard::pick {
namespace {

constexpr std::uint64_t kFull = 65535;
constexpr std::uint64_t kOffset = 32767;  // between neighbours: half a period
constexpr double kMostOfMean = 10;
constexpr double kLeastOfMean = 0.01;

struct StrideCursor final : Cursor {
  explicit StrideCursor(std::uint64_t seed) : phase(seed) {}
  Phase phase;
  std::uint64_t list = 0;  // what it was adopted for: Turns::list
  std::uint64_t number = 0;
};

}  // namespace

std::vector<std::uint32_t> Stride::scaled(std::span<const double> weights) {
  double sum = 0;
  double largest = 0;
  double known = 0;
  for (const double weight : weights) {
    sum += weight;
    largest = std::max(largest, weight);
    known += weight > 0 ? 1 : 0;
  }
  std::vector<std::uint32_t> out(weights.size(), kFull);
  if (known == 0) return out;
  const double mean = sum / known;
  const double most = std::min(largest, kMostOfMean * mean);
  const double scale = static_cast<double>(kFull) / most;
  const double middle = std::round(scale * mean);
  const double least = std::max(1.0, std::round(middle * kLeastOfMean));
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const double own = std::round(std::min(weights[i], most) * scale);
    out[i] = static_cast<std::uint32_t>(weights[i] > 0 ? std::max(own, least) : middle);
  }
  return out;
}

Stride::Stride(const model::TableUpstream& upstream)
    : turns_(upstream, &scaled, Turns::Order::kByNodeRef) {}

std::unique_ptr<Cursor> Stride::cursor_at(std::uint64_t phase) {
  return std::make_unique<StrideCursor>(phase);
}

std::uint64_t Stride::number_of(const Cursor& cursor) noexcept {
  return static_cast<const StrideCursor&>(cursor).number;
}

std::unique_ptr<Cursor> Stride::make_cursor(base::Rng& rng) const {
  auto cursor = cursor_at(rng());
  adopt(*cursor);
  return cursor;
}

// At a number that is taken, each alike: so the first pick is a draw by weight.
void Stride::adopt(Cursor& cursor) const {
  assert(dynamic_cast<StrideCursor*>(&cursor) != nullptr);
  auto& mine = static_cast<StrideCursor&>(cursor);
  if (turns_.empty() || mine.list == turns_.list() || mine.phase.zero()) return;
  mine.list = turns_.list();
  for (;;) {
    const std::uint64_t place = mine.phase.below(turns_.size());
    const std::uint64_t generation = mine.phase.below(kFull);
    mine.number = generation * turns_.size() + place;
    if (takes(turns_[place], place, generation)) return;
  }
}

bool Stride::takes(const Turn& turn, std::uint64_t place, std::uint64_t generation) noexcept {
  const std::uint64_t at = (turn.weight * (generation % kFull) + place * kOffset) % kFull;
  return at >= kFull - turn.weight;
}

std::optional<Index> Stride::pick(const Input& in, Cursor& cursor, base::Rng& rng) const noexcept {
  auto& mine = static_cast<StrideCursor&>(cursor);
  const std::uint64_t count = turns_.size();
  if (count == 0) return std::nullopt;
  std::uint64_t place = mine.number % count;
  std::uint64_t generation = mine.number / count;
  for (std::uint64_t left = turns_.most_steps(); left > 0; --left) {
    const Turn& turn = turns_[place];
    const bool taken = takes(turn, place, generation);
    ++mine.number;
    if (++place == count) place = 0, ++generation;
    if (taken && model::pickable(turn.ref, in.tried, in.slots)) return turn.index;
  }
  return turns_.draw(in, rng);
}

}  // namespace steelyard::pick
