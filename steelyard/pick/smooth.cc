#include "steelyard/pick/smooth.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>

namespace steelyard::pick {
namespace {

__extension__ using u128 = unsigned __int128;

// Steps to fall into the cycle, times nodes: what a fresh start may cost (some 10 µs, once a
// cursor).
constexpr std::uint64_t kWarmUp = std::uint64_t{1} << 12;

std::int64_t rescale(std::int64_t credit, std::int64_t from, std::int64_t to) {
  if (from == to) return credit;
  return std::llround(static_cast<double>(credit) *
                      (static_cast<double>(to) / static_cast<double>(from)));
}

}  // namespace

SmoothRotation::SmoothRotation(const Candidates& candidates)
    : refs_(candidates.refs),
      weight_(candidates.weight),
      total_(candidates.total),
      by_ref_(candidates.size()) {
  std::iota(by_ref_.begin(), by_ref_.end(), Position{0});
  std::sort(by_ref_.begin(), by_ref_.end(),
            [this](Position a, Position b) { return refs_[a] < refs_[b]; });
  if (!weight_.empty()) {
    heaviest_ =
        static_cast<Position>(std::max_element(weight_.begin(), weight_.end()) - weight_.begin());
  }
}

Position SmoothRotation::step(std::span<const Position> among,
                              SmoothCredits& credits) const noexcept {
  std::int64_t sum = 0;
  Position best = among.front();
  std::int64_t most = INT64_MIN;
  for (const Position at : among) {
    const std::int64_t credit = credits.credit[at] += weight_[at];
    sum += weight_[at];
    if (credit > most) {
      most = credit;
      best = at;
    }
  }
  credits.credit[best] -= sum;
  return best;
}

void SmoothRotation::adopt(SmoothCredits& credits) const {
  if (refs_.empty())
    return;  // nothing to rotate over: what was owed is kept for when nodes are back
  if (credits.owners == refs_) {
    if (credits.total == total_) return;
    for (auto& credit : credits.credit) credit = rescale(credit, credits.total, total_);
  } else {
    carry(credits);
  }
  credits.total = total_;
  balance(credits);
}

std::optional<Position> SmoothRotation::find(model::NodeRef ref) const noexcept {
  const auto at = std::lower_bound(
      by_ref_.begin(), by_ref_.end(), ref,
      [this](Position position, model::NodeRef wanted) { return refs_[position] < wanted; });
  return at != by_ref_.end() && refs_[*at] == ref ? std::optional(*at) : std::nullopt;
}

void SmoothRotation::carry(SmoothCredits& credits) const {
  const auto owners = std::exchange(credits.owners, refs_);
  const auto owed = std::exchange(credits.credit, std::vector<std::int64_t>(refs_.size(), 0));
  std::vector<bool> known(refs_.size(), false);
  // One node alone has no rotation to go on with: then all begin anew, out of step with the other
  // workers.
  if (owners.size() > 1) {
    for (std::size_t i = 0; i < owners.size(); ++i) {
      const auto at = find(owners[i]);
      if (!at) continue;
      known[*at] = true;
      credits.credit[*at] = rescale(owed[i], credits.total, total_);
    }
  }
  std::vector<Position> fresh;
  for (Position at = 0; at < refs_.size(); ++at) {
    if (!known[at]) fresh.push_back(at);
  }
  if (!fresh.empty()) begin(fresh, credits);
}

void SmoothRotation::begin(std::span<const Position> fresh, SmoothCredits& credits) const {
  std::int64_t sum = 0;
  for (const Position at : fresh) sum += weight_[at];
  if (credits.phase.zero() || fresh.size() == 1) return;  // credits are 0
  // After t of the sum's steps each has t × weight / sum picks to its name: the whole part has been
  // given; of the rest, as many round up as it takes for the sum to be 0, the largest first,
  // earlier in the list on a tie.
  const auto whole = static_cast<std::uint64_t>(sum);
  const std::uint64_t t = credits.phase.below(whole);
  std::vector<Position> order(fresh.begin(), fresh.end());
  u128 rest = 0;
  for (const Position at : fresh) {
    const auto part = static_cast<u128>(t) * static_cast<std::uint64_t>(weight_[at]) % whole;
    credits.credit[at] = static_cast<std::int64_t>(part);
    rest += part;
  }
  const auto up = static_cast<std::ptrdiff_t>(rest / whole);
  std::nth_element(order.begin(), order.begin() + up, order.end(), [&](Position a, Position b) {
    return credits.credit[a] != credits.credit[b] ? credits.credit[a] > credits.credit[b] : a < b;
  });
  for (auto at = order.begin(); at != order.begin() + up; ++at) credits.credit[*at] -= sum;

  const std::uint64_t half = kWarmUp / 2 / fresh.size();
  for (std::uint64_t left = half + credits.phase.below(half + 1); left > 0; --left)
    step(fresh, credits);
  for (const Position at : fresh) credits.credit[at] = rescale(credits.credit[at], sum, total_);
}

// Brings the sum of credits back to 0, by weight; what rounding leaves goes to the heaviest, where
// it matters least.
void SmoothRotation::balance(SmoothCredits& credits) const {
  auto sum = std::accumulate(credits.credit.begin(), credits.credit.end(), std::int64_t{0});
  if (sum == 0) return;
  const double each = static_cast<double>(sum) / static_cast<double>(total_);
  for (std::size_t i = 0; i < weight_.size(); ++i) {
    const auto part = std::llround(each * static_cast<double>(weight_[i]));
    credits.credit[i] -= part;
    sum -= part;
  }
  credits.credit[heaviest_] -= sum;
}

}  // namespace steelyard::pick
