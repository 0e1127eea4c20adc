// Weighted round robin, the classic interleave: in order of the list, in rounds that admit lighter
// nodes one after the other. Not smooth: 10,1 gives ten of a in a row; who has no reason for it
// takes `smooth_weighted_round_robin`.
//
//   threshold −= gcd at each new round, from the largest weight down; then from the top again
//   a round takes each node whose weight has reached the threshold
// Source: LVS' wrr: 4,3,2 → a a b a b c a b c; 5,1,1 → a a a a a b c. Weights become whole numbers,
// exactly where a factor up to 1,000 does it, else in thousandths of the largest (at least 1): so a
// node's share is whole / sum of whole. The place in the sequence is the cursor. Another order of
// the list or other weights let it begin anew, at a random place of the sequence.
//
// A node that cannot be taken loses its turn. When four rounds give nobody the rest is drawn by
// weight (turns.h). Cost: O(nodes passed over), at worst O(n); no allocation. Among nodes that can
// be taken the longest way is from the last light one to the first heavy one. The cursor: one
// worker.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "steelyard/pick/picker.h"
#include "steelyard/pick/turns.h"

namespace steelyard::pick {

class WeightedRoundRobin final : public Picker {
 public:
  explicit WeightedRoundRobin(const model::TableUpstream& upstream);

  // In lowest terms.
  [[nodiscard]] static std::vector<std::uint32_t> whole(std::span<const double> weights);

  static std::unique_ptr<Cursor> cursor_at(std::uint64_t phase);  // 0: begins with the heaviest
  [[nodiscard]] std::unique_ptr<Cursor> make_cursor(base::Rng& rng) const override;
  void adopt(Cursor& cursor) const override;
  [[nodiscard]] std::optional<Index> pick(const Input& in, Cursor& cursor,
                                          base::Rng& rng) const noexcept override;
  [[nodiscard]] std::optional<double> share(Index node) const noexcept override {
    return turns_.share(node);
  }

 private:
  Turns turns_;  // in order of the list
  std::uint32_t largest_ = 0;
};

}  // namespace steelyard::pick
