#include "steelyard/pick/weighted_round_robin.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>

#include "steelyard/pick/candidates.h"
#include "steelyard/pick/phase.h"

namespace steelyard::pick {
namespace {

constexpr std::uint32_t kMost = 1000;  // of a whole weight, and of the factor that makes it whole
constexpr double kWhole = 1e-6;

struct RoundCursor final : Cursor {
  explicit RoundCursor(std::uint64_t seed) : phase(seed) {}
  Phase phase;
  std::uint64_t list = 0;       // what it was adopted for
  std::uint32_t threshold = 0;  // of the round; 0: none has begun
  std::size_t next = 0;         // the turn to look at
};

bool is_whole(double value) noexcept { return std::abs(value - std::round(value)) <= kWhole; }

// The factor that makes all of them whole and none too large; 0: there is none.
double factor(std::span<const double> weights, double largest) noexcept {
  for (double by = 1; by <= kMost && by * largest <= kMost; ++by) {
    if (std::all_of(weights.begin(), weights.end(),
                    [&](double weight) { return is_whole(weight * by) && weight * by > 0.5; })) {
      return by;
    }
  }
  return 0;
}

}  // namespace

std::vector<std::uint32_t> WeightedRoundRobin::whole(std::span<const double> weights) {
  std::vector<std::uint32_t> out;
  if (weights.empty()) return out;
  const double largest = *std::max_element(weights.begin(), weights.end());
  // Large whole weights first shrink by what they have in common.
  std::uint64_t common = 0;
  for (const double weight : weights) {
    const bool fits = weight < 0x1p53 && is_whole(weight) && weight > 0.5;
    common = fits ? std::gcd(common, static_cast<std::uint64_t>(std::llround(weight))) : 1;
    if (!fits) break;
  }
  const double shrunk = static_cast<double>(std::max<std::uint64_t>(1, common));
  std::vector<double> small;
  for (const double weight : weights) small.push_back(weight / shrunk);
  double by = factor(small, largest / shrunk);
  if (by == 0) by = kMost / (largest / shrunk);
  std::uint32_t divisor = 0;
  for (const double weight : small) {
    out.push_back(std::max(1U, static_cast<std::uint32_t>(std::lround(weight * by))));
    divisor = std::gcd(divisor, out.back());
  }
  for (auto& weight : out) weight /= divisor;
  return out;
}

WeightedRoundRobin::WeightedRoundRobin(const model::TableUpstream& upstream)
    : turns_(upstream, &whole, Turns::Order::kOfTheTable) {
  for (const Turn& turn : turns_) largest_ = std::max(largest_, turn.weight);
}

std::unique_ptr<Cursor> WeightedRoundRobin::cursor_at(std::uint64_t phase) {
  return std::make_unique<RoundCursor>(phase);
}

std::unique_ptr<Cursor> WeightedRoundRobin::make_cursor(base::Rng& rng) const {
  auto cursor = cursor_at(rng());
  adopt(*cursor);
  return cursor;
}

// At any place of the sequence, each alike: so the first pick is a draw by weight.
void WeightedRoundRobin::adopt(Cursor& cursor) const {
  assert(dynamic_cast<RoundCursor*>(&cursor) != nullptr);
  auto& mine = static_cast<RoundCursor&>(cursor);
  if (turns_.empty() || mine.list == turns_.list()) return;
  mine.list = turns_.list();
  std::uint64_t left = mine.phase.below(turns_.sum());
  for (mine.threshold = largest_;; --mine.threshold) {
    for (mine.next = 0; mine.next < turns_.size(); ++mine.next) {
      if (turns_[mine.next].weight >= mine.threshold && left-- == 0) return;
    }
  }
}

std::optional<Index> WeightedRoundRobin::pick(const Input& in, Cursor& cursor,
                                              base::Rng& rng) const noexcept {
  auto& mine = static_cast<RoundCursor&>(cursor);
  if (turns_.empty()) return std::nullopt;
  if (mine.threshold == 0 || mine.threshold > largest_) mine.threshold = largest_;
  if (mine.next >= turns_.size()) mine.next = 0;
  for (std::uint64_t left = turns_.most_steps(); left > 0; --left) {
    const Turn& turn = turns_[mine.next];
    const bool taken = turn.weight >= mine.threshold;
    if (++mine.next == turns_.size()) {
      mine.next = 0;
      mine.threshold = mine.threshold == 1 ? largest_ : mine.threshold - 1;
    }
    if (taken && model::pickable(turn.ref, in.tried, in.slots)) return turn.index;
  }
  return turns_.draw(in, rng);
}

}  // namespace steelyard::pick
