// Weighted draws over one list of candidates: node i with probability weight / sum of weights.
//
//   free draw        alias method (Walker 1977, build after Vose 1991): one random number, O(1)
//   all but one      prefix sums of the weights: one random number, O(log n), however heavy it is
// Nodes that this request may not take are drawn again a few times, then the draw goes through the
// list once (reservoir sampling by weight): the result is exact for the nodes that are left, in at
// most O(n). No allocation. Immutable, shared by all workers.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "steelyard/base/rng.h"
#include "steelyard/pick/candidates.h"

namespace steelyard::pick {

class Draw {
 public:
  using Position = std::uint32_t;  // into the Candidates list
  static constexpr Position kNone = 0xffffffff;

  explicit Draw(const Candidates& candidates);

  // A pickable candidate other than `but`; nothing when there is none.
  [[nodiscard]] std::optional<Position> draw(const Input& in, base::Rng& rng,
                                             Position but = kNone) const noexcept;

  // The alias table: column i gives i with this probability, else alias(i).
  [[nodiscard]] double probability(Position i) const noexcept;
  [[nodiscard]] Position alias(Position i) const noexcept { return columns_[i].alias; }

 private:
  struct Column {
    std::uint64_t keep;  // probability × 2^64, saturated
    Position alias;
  };
  [[nodiscard]] Position any(base::Rng& rng) const noexcept;
  [[nodiscard]] Position other(base::Rng& rng, Position but) const noexcept;
  [[nodiscard]] std::optional<Position> through_the_list(const Input& in, base::Rng& rng,
                                                         Position but) const noexcept;
  void build_alias(const Candidates& candidates);

  std::vector<Column> columns_;
  std::vector<std::int64_t>
      upto_;  // upto_[i]: sum of the weights before i; one more than candidates
  std::vector<model::NodeRef> refs_;
};

}  // namespace steelyard::pick
