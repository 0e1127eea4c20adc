// Keyed: what pickers share that send all requests with one key to one node.
//
// A request without a key goes where a random one would: so the shares are the same, and every
// pick has its probability. All workers agree, since nothing that one of them moves decides. When
// the key's node cannot be taken the kind says which is next; when that finds nobody either, a draw
// by weight whose only chance is the key decides, so the key stays together there too. (With a
// bound the first below it, from a place in the list that the key decides.)
//
// Bounded loads (`bound` c): a node that has its part of the requests in flight is passed over like
// one that cannot be taken, where its part is
//   ceil(c × (in flight in all + 1) × weight / sum of weights), at least 1
// so a hot key overflows to the next nodes instead of drowning its own, and no node ever has more
// than c times its share. Source: Mirrokni, Thorup, Zadimoghaddam 2016. The sum is taken anew every
// n / 16 picks of a worker, by looking at each node's count.
//
// Cost: that of `find`; at worst O(n), by the draw. No allocation. The cursor: one worker; without
// a bound nothing moves.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <tuple>
#include <vector>

#include "steelyard/pick/draw.h"
#include "steelyard/schema/field.h"

namespace steelyard::pick {

struct KeyedOptions {
  std::optional<double> bound;
  static constexpr auto fields() {
    return std::tuple{
        schema::field("bound", &KeyedOptions::bound,
                      "Bounded loads: a node that has so many times its share of the requests in "
                      "flight, as 1.25, is passed over, and keys overflow to the next. Off by "
                      "default.",
                      schema::between(1.01, 100))};
  }
};

class Keyed : public Picker {
 public:
  [[nodiscard]] std::unique_ptr<Cursor> make_cursor(base::Rng& rng) const final;
  void adopt(Cursor& cursor) const final;
  [[nodiscard]] std::optional<Index> pick(const Input& in, Cursor& cursor,
                                          base::Rng& rng) const noexcept final;
  [[nodiscard]] std::optional<double> share(Index node) const noexcept final;

 protected:
  using Position = Draw::Position;  // into the candidates

  // Whether this pick may take a candidate.
  class Takes {
   public:
    Takes(const Keyed& of, const Input& in, double each) noexcept : of_(of), in_(in), each_(each) {}
    [[nodiscard]] bool operator()(Position at) const noexcept {
      const auto& node = of_.nodes_[at];
      if (!model::pickable(node.ref, in_.tried, in_.slots)) return false;
      return each_ == 0 ||
             in_.slots.in_flight(node.ref) < std::max(1.0, std::ceil(each_ * node.weight));
    }

   private:
    const Keyed& of_;
    const Input& in_;
    double each_;  // in flight for each unit of weight; 0: unbounded
  };

  Keyed(const Candidates& candidates, const KeyedOptions& options);

  // A candidate that `takes` takes; nothing: the draw decides. There are candidates.
  [[nodiscard]] virtual std::optional<Position> find(std::uint64_t number,
                                                     const Takes& takes) const noexcept = 0;
  // Of each candidate, in order.
  [[nodiscard]] virtual std::vector<double> shares() const = 0;

  [[nodiscard]] std::size_t size() const noexcept { return nodes_.size(); }

 private:
  struct Node {
    model::NodeRef ref;
    Index index;
    double weight;  // quanta
  };
  [[nodiscard]] double each(const Input& in, Cursor& cursor) const noexcept;

  std::vector<Node> nodes_;
  Draw draw_;
  double sum_ = 0;    // of the weights
  double bound_ = 0;  // 0: none
};

}  // namespace steelyard::pick
