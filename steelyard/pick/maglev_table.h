// Maglev's table: a fixed number of places, each of one owner, in exact proportion to the weights.
//
// Each owner has an order of all places, (offset + j × skip) mod size; they take turns, each taking
// the next free place of its order, until all are taken. By weight: in round r an owner takes a
// turn when r × weight has reached what its turns so far cost (the largest weight each), so the
// heaviest takes one in every round. Source: Eisenbud et al. 2016; names hashed and weights taken
// as Envoy does. Of places that stay with owners who stay, removing one of n moves few: 0.2 % at n
// = 10, 0.6 % at 100 and 1,000 (size 65537). A ring moves none, but spreads worse: here the fullest
// of 1,000 owners is 0.7 % above the mean. Cost: to make O(size log size) on average; 4 bytes a
// place; a look is one place in memory. Immutable, shared by all workers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace steelyard::pick {

class MaglevTable {
 public:
  static constexpr std::uint32_t kSize = 65537;  // a prime, as must be
  struct Owner {
    std::string name;  // its identity: the order of places hangs on it
    double weight = 1;
  };

  explicit MaglevTable(const std::vector<Owner>& owners, std::uint32_t size = kSize);

  // Into the list it was made of. There were owners.
  [[nodiscard]] std::uint32_t operator[](std::uint64_t number) const noexcept {
    return places_[number % places_.size()];
  }
  [[nodiscard]] const std::vector<std::uint32_t>& places() const noexcept { return places_; }

 private:
  std::vector<std::uint32_t> places_;  // empty without owners
};

}  // namespace steelyard::pick
