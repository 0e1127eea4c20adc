#include "steelyard/pick/maglev_table.h"

#include <algorithm>

#include "steelyard/base/hash.h"

namespace steelyard::pick {
namespace {

constexpr std::uint32_t kFree = 0xffffffff;

struct Turns {
  std::uint64_t at;  // the next place of its order
  std::uint64_t skip;
  double weight;
  double due;  // what its next turn costs, in rounds × weight
};

}  // namespace

MaglevTable::MaglevTable(const std::vector<Owner>& owners, std::uint32_t size) {
  if (owners.empty()) return;
  std::vector<Turns> all;
  double largest = 0;
  for (const auto& owner : owners) {
    all.push_back({base::xxh64(owner.name) % size, base::xxh64(owner.name, 1) % (size - 1) + 1,
                   owner.weight, 0});
    largest = std::max(largest, owner.weight);
  }
  places_.assign(size, kFree);
  std::uint32_t left = size;
  for (double round = 1; left > 0; ++round) {
    for (std::uint32_t i = 0; i < all.size() && left > 0; ++i) {
      Turns& mine = all[i];
      if (round * mine.weight < mine.due) continue;
      mine.due += largest;
      while (places_[mine.at] != kFree) mine.at = (mine.at + mine.skip) % size;
      places_[mine.at] = i;
      --left;
    }
  }
}

}  // namespace steelyard::pick
