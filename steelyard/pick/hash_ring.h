// Consistent hash ring: a key goes to the node whose point is next on a circle of 2^64 numbers.
//
// A node that goes gives its keys to the nodes whose points follow its own, about evenly, and takes
// the same ones back: no other key moves. While it cannot be taken the walk goes on from point to
// point, for as many as there are of about eight nodes, then a draw decides (keyed.h).
//
// Our own placement: point j of a node is a pure function of its name and j, xxh3 of "name" seeded
// with j; how many it has is `points` × weight / reference, at least 1. The reference is the power
// of two next to the mean weight, so another weight of one node adds or takes its last points only,
// and moves keys only to it or from it, unless the mean passes half way between two powers. At 160
// points for 10 nodes the fullest has on average 1.13 of the mean. murmur3 and fnv1a are other
// hashes for keys of the same ring. The other placements: placement.h; they hash the address and
// their own way a key.
//
// Cost: a hash and two places in memory; to make O(points). Shares: the arcs of the circle, so they
// differ from the weights as said. Immutable, shared by all workers.
#pragma once

#include <array>
#include <cstdint>
#include <tuple>

#include "steelyard/pick/keyed.h"
#include "steelyard/pick/ring.h"
#include "steelyard/schema/field.h"

namespace steelyard::pick {

enum class Placement : std::uint8_t {
  kXxh3,
  kMurmur3,
  kFnv1a,
  kNginx,
  kKetama,
  kKetamaPlain,
  kEnvoy,
  kHaproxy
};
constexpr auto schema_names(Placement) {
  using enum Placement;
  return std::array{schema::Name{"xxh3", kXxh3},     schema::Name{"murmur3", kMurmur3},
                    schema::Name{"fnv1a", kFnv1a},   schema::Name{"nginx", kNginx},
                    schema::Name{"ketama", kKetama}, schema::Name{"ketama_plain", kKetamaPlain},
                    schema::Name{"envoy", kEnvoy},   schema::Name{"haproxy", kHaproxy}};
}

struct HashRingOptions {
  Placement placement = Placement::kXxh3;
  std::uint32_t points = 160;
  KeyedOptions keyed;
  static constexpr auto fields() {
    return std::tuple{
        schema::field("placement", &HashRingOptions::placement,
                      "Where the points of nodes stand: ours, with keys hashed by `xxh3`, "
                      "`murmur3` or `fnv1a`; or as others place them, to join or replace them "
                      "without moving keys: `nginx` (hash ... consistent), `ketama`, "
                      "`ketama_plain` (libmemcached, without port 11211), `envoy` (ring_hash), "
                      "`haproxy` (hash-type consistent)."),
        schema::field("points", &HashRingOptions::points,
                      "Points of a node of mean weight, for our own placement. More spread keys "
                      "more evenly and take more memory, 24 bytes each.",
                      schema::between(1, 10'000)),
        schema::splice(&HashRingOptions::keyed)};
  }
};

class HashRing final : public Keyed {
 public:
  explicit HashRing(const model::TableUpstream& upstream, const HashRingOptions& options = {});
  [[nodiscard]] std::uint64_t number(std::string_view key) const noexcept override;
  [[nodiscard]] const Ring& ring() const noexcept { return ring_; }

 private:
  HashRing(const model::TableUpstream& upstream, const Candidates& candidates,
           const HashRingOptions& options);
  [[nodiscard]] std::optional<Position> find(std::uint64_t number,
                                             const Takes& takes) const noexcept override;
  [[nodiscard]] std::vector<double> shares() const override;

  Placement placement_;
  Ring ring_;
};

}  // namespace steelyard::pick
