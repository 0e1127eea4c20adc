// Turns: the nodes of a picker that goes over them one after the other, each with a whole weight.
//
// What such pickers share: the list, the share of each node (weight / sum), a number that stands
// for nodes, order and weights, by which a cursor knows whether it is for this list, and a draw by
// the upstream's weights for picks that go over the list in vain. Immutable, shared by all workers.
// Cost: O(n) to make, and for `share`; `draw` see draw.h.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "steelyard/pick/draw.h"

namespace steelyard::pick {

struct Turn {
  model::NodeRef ref;
  Index index;  // into TableUpstream::nodes
  std::uint32_t weight;
};

class Turns {
 public:
  using Weigh = std::vector<std::uint32_t> (*)(std::span<const double>);
  enum class Order : std::uint8_t { kOfTheTable, kByNodeRef };
  Turns(const model::TableUpstream& upstream, Weigh weigh, Order order);

  [[nodiscard]] bool empty() const noexcept { return turns_.empty(); }
  [[nodiscard]] std::uint64_t size() const noexcept { return turns_.size(); }
  [[nodiscard]] const Turn& operator[](std::uint64_t i) const noexcept { return turns_[i]; }
  [[nodiscard]] auto begin() const noexcept { return turns_.begin(); }
  [[nodiscard]] auto end() const noexcept { return turns_.end(); }
  [[nodiscard]] std::uint64_t sum() const noexcept { return sum_; }    // of the weights
  [[nodiscard]] std::uint64_t list() const noexcept { return list_; }  // never 0
  // Steps of a pick before it draws: four rounds, and some more of a list whose round is short.
  [[nodiscard]] std::uint64_t most_steps() const noexcept { return 4 * size() + 64; }
  [[nodiscard]] double share(Index node) const noexcept;
  [[nodiscard]] std::optional<Index> draw(const Input& in, base::Rng& rng) const noexcept;

 private:
  Turns(const model::TableUpstream& upstream, const Candidates& candidates, Weigh weigh,
        Order order);

  std::vector<Turn> turns_;
  std::vector<Index> index_;  // as the draw knows them
  Draw draw_;
  std::uint64_t sum_ = 0;
  std::uint64_t list_ = 1;
};

}  // namespace steelyard::pick
