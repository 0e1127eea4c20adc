#include "steelyard/pick/placement.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "steelyard/base/hash.h"

namespace steelyard::pick {
namespace {

constexpr std::uint32_t kNginxPoints = 160;
constexpr double kKetamaDigests = 40;
constexpr std::uint32_t kHaproxyPoints = 16;
constexpr std::uint32_t kHaproxyIds = 4096;

constexpr std::uint64_t high(std::uint32_t number) noexcept { return std::uint64_t{number} << 32U; }

std::uint32_t whole(double weight) noexcept {
  return static_cast<std::uint32_t>(std::clamp(std::round(weight), 1.0, 65535.0));
}

std::uint32_t little(const std::uint8_t* from) noexcept {
  std::uint32_t out = 0;
  std::memcpy(&out, from, sizeof out);
  return out;
}

double sum_of(const std::vector<PlacedNode>& nodes) noexcept {
  double sum = 0;
  for (const auto& node : nodes) sum += node.weight;
  return sum;
}

}  // namespace

Ring nginx_ring(const std::vector<PlacedNode>& nodes) {
  std::vector<Ring::Point> points;
  for (std::uint32_t i = 0; i < nodes.size(); ++i) {
    std::string name = nodes[i].address;
    const auto colon = name.rfind(':');
    if (colon == std::string::npos) {
      name += '\0';
    } else {
      name[colon] = '\0';
    }
    const std::uint32_t base = base::crc32(name);
    std::uint32_t before = 0;
    for (std::uint32_t left = kNginxPoints * whole(nodes[i].weight); left > 0; --left) {
      std::array<char, sizeof before> bytes;
      std::memcpy(bytes.data(), &before, sizeof before);
      before = base::crc32({bytes.data(), bytes.size()}, base);
      points.push_back({high(before), i});
    }
  }
  return Ring(points);
}

std::uint64_t nginx_number(std::string_view key) noexcept { return high(base::crc32(key)); }

Ring ketama_ring(const std::vector<PlacedNode>& nodes, KetamaPort port) {
  constexpr std::string_view kDefaultPort = ":11211";
  constexpr double kRounding = 1e-10;  // libmemcached's, against a product just below a whole one
  const double sum = sum_of(nodes);
  std::vector<Ring::Point> points;
  for (std::uint32_t i = 0; i < nodes.size(); ++i) {
    std::string name = nodes[i].address;
    if (port == KetamaPort::kUnlessDefault && name.ends_with(kDefaultPort)) {
      name.resize(name.size() - kDefaultPort.size());
    }
    const double part = nodes[i].weight / sum * kKetamaDigests * static_cast<double>(nodes.size());
    const auto digests = static_cast<std::uint32_t>(std::floor(part + kRounding));
    for (std::uint32_t k = 0; k < digests; ++k) {
      const auto digest = base::md5(name + "-" + std::to_string(k));
      for (std::size_t at = 0; at < digest.size(); at += 4) {
        points.push_back({high(little(digest.data() + at)), i});
      }
    }
  }
  return Ring(points);
}

std::uint64_t ketama_number(std::string_view key) noexcept {
  return high(little(base::md5(key).data()));
}

Ring envoy_ring(const std::vector<PlacedNode>& nodes, EnvoyBounds bounds) {
  std::vector<Ring::Point> points;
  if (nodes.empty()) return Ring(points);
  const double sum = sum_of(nodes);
  double smallest = 1;
  for (const auto& node : nodes) smallest = std::min(smallest, node.weight / sum);
  const double scale = std::min(std::ceil(smallest * static_cast<double>(bounds.least)) / smallest,
                                static_cast<double>(bounds.most));
  double given = 0;
  double due = 0;
  for (std::uint32_t i = 0; i < nodes.size(); ++i) {
    due += scale * (nodes[i].weight / sum);
    for (std::uint64_t k = 0; given < due; ++k, ++given) {
      points.push_back({base::xxh64(nodes[i].address + "_" + std::to_string(k)), i});
    }
  }
  return Ring(points);
}

std::uint64_t envoy_number(std::string_view key) noexcept { return base::xxh64(key); }

std::uint32_t haproxy_mix(std::uint32_t number) noexcept {
  number = (number + 0x7ed55d16) + (number << 12);
  number = (number ^ 0xc761c23c) ^ (number >> 19);
  number = (number + 0x165667b1) + (number << 5);
  number = (number + 0xd3a2646c) ^ (number << 9);
  number = (number + 0xfd7046c5) + (number << 3);
  number = (number ^ 0xb55a4f09) ^ (number >> 16);
  return number * 3221225473U;
}

Ring haproxy_ring(const std::vector<PlacedNode>& nodes) {
  std::vector<Ring::Point> points;
  for (std::uint32_t i = 0; i < nodes.size(); ++i) {
    const std::uint32_t key = (nodes[i].id != 0 ? nodes[i].id : i + 1) * kHaproxyIds;
    for (std::uint32_t k = 0; k < kHaproxyPoints * whole(nodes[i].weight); ++k) {
      points.push_back({high(haproxy_mix(key + k)), i});
    }
  }
  return Ring(points);
}

std::uint64_t haproxy_number(std::string_view key) noexcept {
  std::uint32_t hash = 0;
  for (const char c : key) hash = static_cast<unsigned char>(c) + (hash << 6) + (hash << 16) - hash;
  return high(haproxy_mix(hash));
}

std::size_t haproxy_nearest(const Ring& ring, std::uint64_t number) noexcept {
  const std::size_t behind = ring.successor(number);
  const std::size_t before = ring.before(behind);
  // Around the end of the circle, where it must be.
  return number - ring[before].at <= ring[behind].at - number ? before : behind;
}

}  // namespace steelyard::pick
