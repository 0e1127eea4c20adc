// Static stride: smooth weighted round robin for large upstreams, O(1) a pick.
//
// Each generation goes over the nodes once, in order of NodeRef; node i of weight W (of 65535)
// takes its turn in W of 65535 generations, evenly spread and out of step with its neighbours:
//   s = next number;  i = s mod n;  g = s / n
//   taken when (W × g + i × 32767) mod 65535 ≥ 65535 − W
// Source: gRPC's static stride scheduler. Weights are scaled so that the largest is 65535, after
// it was capped at 10 × the mean; the smallest counts 1 % of the mean at least. So a node's share
// is scaled / sum of scaled, which is its weight's where no weight is beyond those bounds, to 4
// digits. A pick passes over about largest / mean of the scaled weights: few numbers, unless few
// nodes have nearly all of the weight. The next number is the cursor. Another order of the list
// does not disturb it; other nodes or weights let it begin anew, by a draw: where Tables change as
// often as picks come it is a random choice by weight.
//
// A node that cannot be taken loses its turn. When four rounds give nobody the rest is drawn by
// weight (turns.h). Cost: O(1) in effect, at worst O(n); no allocation. The cursor: one worker.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "steelyard/pick/picker.h"
#include "steelyard/pick/turns.h"

namespace steelyard::pick {

class Stride final : public Picker {
 public:
  explicit Stride(const model::TableUpstream& upstream);

  // Of finite weights ≥ 0; 0 is one that nobody knows, and counts as the mean.
  [[nodiscard]] static std::vector<std::uint32_t> scaled(std::span<const double> weights);

  static std::unique_ptr<Cursor> cursor_at(std::uint64_t phase);  // 0: begins with number 0
  [[nodiscard]] static std::uint64_t number_of(const Cursor& cursor) noexcept;  // the next one
  [[nodiscard]] std::unique_ptr<Cursor> make_cursor(base::Rng& rng) const override;
  void adopt(Cursor& cursor) const override;
  [[nodiscard]] std::optional<Index> pick(const Input& in, Cursor& cursor,
                                          base::Rng& rng) const noexcept override;
  [[nodiscard]] std::optional<double> share(Index node) const noexcept override {
    return turns_.share(node);
  }

 private:
  [[nodiscard]] static bool takes(const Turn& turn, std::uint64_t place,
                                  std::uint64_t generation) noexcept;

  Turns turns_;
};

}  // namespace steelyard::pick
