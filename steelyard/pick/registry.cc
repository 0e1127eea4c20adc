#include "steelyard/pick/registry.h"

#include <array>

#include "steelyard/pick/hash_ring.h"
#include "steelyard/pick/jump_hash.h"
#include "steelyard/pick/least_connections.h"
#include "steelyard/pick/maglev.h"
#include "steelyard/pick/p2c.h"
#include "steelyard/pick/random.h"
#include "steelyard/pick/rendezvous.h"
#include "steelyard/pick/round_robin.h"
#include "steelyard/pick/smooth_weighted_round_robin.h"
#include "steelyard/pick/stride.h"
#include "steelyard/pick/weighted_random.h"
#include "steelyard/pick/weighted_round_robin.h"
#include "steelyard/schema/describe.h"

namespace steelyard::pick {
namespace {

// Bounds: 2 picks in a million for the exact ones; 5 standard deviations of a share of one half for
// the random ones.
constexpr double kExact = 2e-6;
constexpr double kRandom = 2.5e-3;
// Of the stride: random where the list changes before each pick, else exact.
constexpr double kStride = 2e-3;
constexpr double kClassic = 2e-3;  // the same, and a row of picks that the end cuts

template <typename P, typename Options>
constexpr Kind keyed(std::string_view name, std::string_view summary, bool weighted = true) {
  return {name,
          summary,
          weighted,
          kRandom,
          true,
          &schema::describe<Options>,
          [](const model::TableUpstream& upstream,
             const schema::Choice& choice) -> std::unique_ptr<const Picker> {
            return std::make_unique<P>(upstream, choice.as<Options>());
          }};
}

// clang-format off: one picker a line.
constexpr std::array kKinds{
    kind<RoundRobin>("round_robin", "Each node in turn, whatever its weight.", kExact, kUnweighted),
    kind<WeightedRoundRobin>("weighted_round_robin", "In turn by weight as LVS does it, heavy nodes several times in a row.", kClassic),
    kind<SmoothWeightedRoundRobin>("smooth_weighted_round_robin", "In turn by weight, evenly spread, exact.", kExact),
    kind<Stride>("stride", "In turn by weight for thousands of nodes: O(1), weights bounded to 10 × their mean.", kStride),
    kind<Random>("random", "At random, whatever the weight.", kRandom, kUnweighted),
    kind<WeightedRandom>("weighted_random", "At random by weight.", kRandom),
    kind<LeastConnections>("least_connections", "The fewest requests in flight for its weight; idle: by weight, in turn.", kExact),
    kind<P2c>("p2c", "Two nodes at random by weight, the less loaded for its weight wins.", kRandom),
    keyed<HashRing, HashRingOptions>("ring", "By the request's key on a consistent hash ring; another node or weight moves few keys."),
    keyed<Maglev, MaglevOptions>("maglev", "By the request's key in Maglev's table: spread within a percent, a few more keys move."),
    keyed<JumpHash, KeyedOptions>("jump", "By the request's key among shards in the order of the list, whatever the weight.", kUnweighted),
    keyed<Rendezvous, KeyedOptions>("rendezvous", "By the request's key, exact shares, only the keys that must move; for up to 100 nodes."),
};
// clang-format on

}  // namespace

std::span<const Kind> kinds() noexcept { return kKinds; }

const Kind* find(std::string_view name) noexcept {
  for (const Kind& kind : kKinds) {
    if (kind.name == name) return &kind;
  }
  return nullptr;
}

}  // namespace steelyard::pick
