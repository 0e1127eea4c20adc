// Smooth weighted round robin over one list of candidates: the core of
// `smooth_weighted_round_robin` and the tie-break of `least_connections`.
//
//   step over a set S:  credit += weight for each of S;
//                       the largest credit wins (first of the list on a tie);
//                       the winner's credit -= the sum of the weights of S
// Source: the rule of Nginx's round robin (Igor Sysoev, 2012), in whole numbers. Who is not in S
// keeps its credit and its weight does not count. From credits of 0, over a fixed set: after t
// steps credit = t × weight − total × picks, the sum of the credits is 0, and after `total` steps
// (in lowest terms) all are 0 again. Deviation from the exact share: below 2 picks.
//
// Credits belong to a worker and are kept by NodeRef; `adopt` carries them into the next Table as
// picks owed (credit / total), so a new Table, another order of the list or another scale of
// weights does not restart the rotation. Nodes new to the list begin as a rotation of their own at
// a random phase; what a leaving node owed is spread by weight.
// Phase: a random point of the exact schedule, each credit within about one pick of its ideal, then
// a random number of steps to fall into the cycle. So over fresh cursors the share of first picks
// tends to the weights, and windows of one period are exact where a period is short.
// Cost: step O(|S|); adopt O(n) when the nodes are the same, else O(n log n).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "steelyard/pick/candidates.h"
#include "steelyard/pick/phase.h"

namespace steelyard::pick {

using Position = std::uint32_t;  // into a Candidates list

// What moves: one worker's, for one upstream.
struct SmoothCredits {
  explicit SmoothCredits(std::uint64_t seed) : phase(seed) {}

  Phase phase;
  std::vector<model::NodeRef> owners;  // of `credit`, in the order of the Candidates last adopted
  std::vector<std::int64_t> credit;
  std::int64_t total = 0;  // the sum of weights that the credits are in units of
};

class SmoothRotation {
 public:
  explicit SmoothRotation(const Candidates& candidates);

  void adopt(SmoothCredits& credits) const;
  // `among`: positions, ascending, not empty.
  Position step(std::span<const Position> among, SmoothCredits& credits) const noexcept;

 private:
  [[nodiscard]] std::optional<Position> find(model::NodeRef ref) const noexcept;
  void begin(std::span<const Position> fresh, SmoothCredits& credits) const;
  void carry(SmoothCredits& credits) const;
  void balance(SmoothCredits& credits) const;

  std::vector<model::NodeRef> refs_;
  std::vector<std::int64_t> weight_;
  std::int64_t total_;
  std::vector<Position> by_ref_;  // positions sorted by NodeRef
  Position heaviest_ = 0;
};

}  // namespace steelyard::pick
