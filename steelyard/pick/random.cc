#include "steelyard/pick/random.h"

#include <algorithm>

namespace steelyard::pick {
namespace {

Candidates all_equal(const model::TableUpstream& upstream) {
  auto out = Candidates::of(upstream);
  std::fill(out.weight.begin(), out.weight.end(), 1);
  out.total = out.size();
  return out;
}

}  // namespace

Random::Random(const model::TableUpstream& upstream) : WeightedRandom(all_equal(upstream)) {}

}  // namespace steelyard::pick
