#include "steelyard/weigh/wanted.h"

#include <algorithm>
#include <cmath>

namespace steelyard::weigh {

namespace {

// Controls outside of this are no weights any more: a law that asks for them asks for "as little"
// or "as much as may be".
constexpr double kLeast = 1e-6;
constexpr double kMost = 1e6;

bool measured(const Wish& wish) noexcept {
  return wish.known && !wish.floor && !wish.hold && std::isfinite(wish.value) && wish.value > 0;
}

struct Known {
  std::size_t count = 0;
  double base = 0;
  double value = 0;       // Σ w
  double base_value = 0;  // Σ base·value
};

Known sum_up(std::span<const View> nodes, std::span<const Wish> wishes) noexcept {
  Known known;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (!measured(wishes[i])) continue;
    ++known.count;
    known.base += nodes[i].base;
    known.value += wishes[i].value;
    known.base_value += nodes[i].base * wishes[i].value;
  }
  return known;
}

}  // namespace

void settle(const Law& law, std::span<const View> nodes, std::span<const Wish> wishes,
            std::span<const double> floors, std::span<Want> out) {
  const Known known = sum_up(nodes, wishes);
  const bool held =
      std::any_of(wishes.begin(), wishes.end(), [](const Wish& wish) { return wish.hold; });
  const bool few = known.count < law.min_known;
  const double mean =
      law.scale == Scale::kFactor && known.base > 0 ? known.base_value / known.base : 1;

  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const Wish& wish = wishes[i];
    Want& want = out[i];
    want = Want{};
    if (known.count == 0 && !held) continue;
    if (wish.hold || known.count == 0 || (few && held)) {
      want.standing = Standing::kHold;
      continue;
    }
    if (wish.known && wish.floor) {
      want = {floors[i], Standing::kFloor};
    } else if (few) {
      want = {1, Standing::kBase};
    } else if (!measured(wish)) {
      want = {mean, Standing::kMean};
    } else if (law.scale == Scale::kFactor) {
      want = {wish.value, Standing::kKnown};
    } else {
      want = {wish.value / known.value * known.base / nodes[i].base, Standing::kKnown};
    }
    want.control = std::clamp(want.control, kLeast, kMost);
  }
}

}  // namespace steelyard::weigh
