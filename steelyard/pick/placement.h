// Placements: where the points of nodes stand on a ring, as other balancers and clients place them,
// so that a fleet can be joined or replaced without moving keys.
//
//   nginx          `hash … consistent`: 160 points a unit of weight; each is the CRC-32 of host, a
//                  zero byte, port and the point before. Key: CRC-32.
//   ketama         libketama: MD5 of "address-k" gives four points; 40 digests a node of mean
//                  weight. Key: MD5, its first four bytes.
//   ketama_plain   the same as libmemcached names its servers: without the port where it is 11211.
//   envoy          ring_hash: XXH64 of "address_i"; at least `least` points in all, in proportion.
//                  Key: XXH64.
//   haproxy        `hash-type consistent`: 16 points a unit of weight, Jenkins' mix of id × 4096 +
//                  i, ids from 1 in order of the list. Key: sdbm and the same mix, as without
//                  a hash function named. It meets the nearer of its neighbours.
// Numbers of 32 bits stand in the high half (ring.h). The owners are places in `nodes`. Weights are
// whole for nginx and haproxy, as theirs are: others are rounded, to at least 1. Sources: their
// code; values in the tests. Cost: O(points log points). Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "steelyard/pick/ring.h"

namespace steelyard::pick {

struct PlacedNode {
  std::string address;  // "10.0.0.1:443", "[::1]:443"
  double weight = 1;
  std::uint32_t id = 0;  // haproxy's: the place in its list, from 1; 0: that in the one given
};

[[nodiscard]] Ring nginx_ring(const std::vector<PlacedNode>& nodes);
[[nodiscard]] std::uint64_t nginx_number(std::string_view key) noexcept;

enum class KetamaPort : std::uint8_t { kAlways, kUnlessDefault };
[[nodiscard]] Ring ketama_ring(const std::vector<PlacedNode>& nodes, KetamaPort port);
[[nodiscard]] std::uint64_t ketama_number(std::string_view key) noexcept;

struct EnvoyBounds {
  std::uint64_t least = 1024;
  std::uint64_t most = 8'388'608;
};
// Named by what Envoy hashes: the address, or a name.
[[nodiscard]] Ring envoy_ring(const std::vector<PlacedNode>& nodes, EnvoyBounds bounds = {});
[[nodiscard]] std::uint64_t envoy_number(std::string_view key) noexcept;

[[nodiscard]] Ring haproxy_ring(const std::vector<PlacedNode>& nodes);
[[nodiscard]] std::uint64_t haproxy_number(std::string_view key) noexcept;
[[nodiscard]] std::uint32_t haproxy_mix(std::uint32_t number) noexcept;
// Of the points before and behind the number the nearer, that before when both are as near.
[[nodiscard]] std::size_t haproxy_nearest(const Ring& ring, std::uint64_t number) noexcept;

}  // namespace steelyard::pick
