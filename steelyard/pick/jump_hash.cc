#include "steelyard/pick/jump_hash.h"

#include <algorithm>

#include "steelyard/pick/jump.h"
#include "steelyard/pick/phase.h"

namespace steelyard::pick {
namespace {

constexpr int kJumps = 16;

// The draw behind the jumps is not by weight either.
Candidates all_equal(Candidates candidates) {
  std::fill(candidates.weight.begin(), candidates.weight.end(), 1);
  candidates.total = candidates.size();
  return candidates;
}

}  // namespace

JumpHash::JumpHash(const model::TableUpstream& upstream, const KeyedOptions& options)
    : JumpHash(upstream, all_equal(Candidates::of(upstream)), options) {}

JumpHash::JumpHash(const model::TableUpstream& upstream, const Candidates& candidates,
                   const KeyedOptions& options)
    : Keyed(candidates, options), places_(upstream.nodes.size(), Draw::kNone) {
  for (Position at = 0; at < candidates.size(); ++at) places_[candidates.index[at]] = at;
}

std::optional<Keyed::Position> JumpHash::find(std::uint64_t number,
                                              const Takes& takes) const noexcept {
  Phase other(number + 1);
  for (int left = kJumps; left > 0; --left) {
    const Position at = places_[jump(number, static_cast<std::uint32_t>(places_.size()))];
    if (at != Draw::kNone && takes(at)) return at;
    number = other.next();
  }
  return std::nullopt;
}

std::vector<double> JumpHash::shares() const {
  return std::vector<double>(size(), 1 / static_cast<double>(size()));
}

}  // namespace steelyard::pick
