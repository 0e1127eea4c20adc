// Weighted rendezvous: a number goes to the node with the highest score of its own.
//
//   score = −w / ln(u),  u in (0, 1) from the number and the node's identity
// Shares are exactly w / sum of weights; another weight of one node moves numbers only to or from
// it; a node that goes gives its numbers to the others in proportion to their weights, a node that
// cannot be taken now likewise. It is the smallest of −ln(u) / w that is looked for, which is the
// same. Source: Thaler and Ravishankar 1998; weights after Schindelhauer and Schomaker 2005.
//
// A node is known by its name. Cost: O(nodes) a number, with a logarithm each: for about 100 nodes
// at most. Immutable, shared by all workers.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "steelyard/pick/keyed.h"

namespace steelyard::pick {

// The lower wins. `identity`: a hash of who the node is; weight > 0.
[[nodiscard]] inline double rendezvous_cost(std::uint64_t number, std::uint64_t identity,
                                            double weight) noexcept {
  // splitmix64's finaliser over both (Steele, Lea, Flood 2014).
  std::uint64_t z = number ^ (identity * 0x9e3779b97f4a7c15ULL + 0x9e3779b97f4a7c15ULL);
  z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27U)) * 0x94d049bb133111ebULL;
  z ^= z >> 31U;
  const double u = (static_cast<double>(z >> 11U) + 0.5) * 0x1p-53;
  return -std::log(u) / weight;
}

class Rendezvous final : public Keyed {
 public:
  explicit Rendezvous(const model::TableUpstream& upstream, const KeyedOptions& options = {});

 private:
  struct Node {
    std::uint64_t identity;
    double weight;
  };
  Rendezvous(const model::TableUpstream& upstream, const Candidates& candidates,
             const KeyedOptions& options);
  [[nodiscard]] std::optional<Position> find(std::uint64_t number,
                                             const Takes& takes) const noexcept override;
  [[nodiscard]] std::vector<double> shares() const override;

  std::vector<Node> nodes_;
};

}  // namespace steelyard::pick
