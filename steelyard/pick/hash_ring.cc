#include "steelyard/pick/hash_ring.h"

#include <algorithm>
#include <cmath>

#include "steelyard/pick/placement.h"

namespace steelyard::pick {
namespace {

constexpr std::size_t kWalkedNodes = 8;

Ring own_ring(const model::TableUpstream& upstream, const Candidates& candidates,
              std::uint32_t points) {
  std::vector<Ring::Point> out;
  if (candidates.size() == 0) return Ring(out);
  double sum = 0;
  for (const Index i : candidates.index) sum += upstream.nodes[i].weight;
  const double reference = std::exp2(std::round(std::log2(sum / candidates.size())));
  for (std::uint32_t at = 0; at < candidates.size(); ++at) {
    const auto& node = upstream.nodes[candidates.index[at]];
    const double count = std::max(1.0, std::round(points * node.weight / reference));
    for (std::uint64_t j = 0; j < static_cast<std::uint64_t>(count); ++j) {
      out.push_back({base::xxh3(node.name, j), at});
    }
  }
  return Ring(out);
}

std::vector<PlacedNode> placed(const model::TableUpstream& upstream, const Candidates& candidates) {
  std::vector<PlacedNode> out;
  out.reserve(candidates.size());
  for (const Index i : candidates.index) {
    const auto& node = upstream.nodes[i];
    out.push_back({.address = node.address.to_text(), .weight = node.weight, .id = i + 1});
  }
  return out;
}

Ring ring_of(const model::TableUpstream& upstream, const Candidates& candidates,
             const HashRingOptions& options) {
  switch (options.placement) {
    case Placement::kXxh3:
    case Placement::kMurmur3:
    case Placement::kFnv1a:
      break;
    case Placement::kNginx:
      return nginx_ring(placed(upstream, candidates));
    case Placement::kKetama:
      return ketama_ring(placed(upstream, candidates), KetamaPort::kAlways);
    case Placement::kKetamaPlain:
      return ketama_ring(placed(upstream, candidates), KetamaPort::kUnlessDefault);
    case Placement::kEnvoy:
      return envoy_ring(placed(upstream, candidates));
    case Placement::kHaproxy:
      return haproxy_ring(placed(upstream, candidates));
  }
  return own_ring(upstream, candidates, options.points);
}

}  // namespace

HashRing::HashRing(const model::TableUpstream& upstream, const HashRingOptions& options)
    : HashRing(upstream, Candidates::of(upstream), options) {}

HashRing::HashRing(const model::TableUpstream& upstream, const Candidates& candidates,
                   const HashRingOptions& options)
    : Keyed(candidates, options.keyed),
      placement_(options.placement),
      ring_(ring_of(upstream, candidates, options)) {}

std::uint64_t HashRing::number(std::string_view key) const noexcept {
  switch (placement_) {
    case Placement::kXxh3:
      break;
    case Placement::kMurmur3:
      return base::murmur3(key);
    case Placement::kFnv1a:
      return base::fnv1a(key);
    case Placement::kNginx:
      return nginx_number(key);
    case Placement::kKetama:
    case Placement::kKetamaPlain:
      return ketama_number(key);
    case Placement::kEnvoy:
      return envoy_number(key);
    case Placement::kHaproxy:
      return haproxy_number(key);
  }
  return base::xxh3(key);
}

std::optional<Keyed::Position> HashRing::find(std::uint64_t number,
                                              const Takes& takes) const noexcept {
  const std::size_t most = kWalkedNodes * (ring_.size() / size() + 1);
  std::size_t at =
      placement_ == Placement::kHaproxy ? haproxy_nearest(ring_, number) : ring_.successor(number);
  for (std::size_t left = most; left > 0; --left) {
    if (const Position owner = ring_[at].owner; takes(owner)) return owner;
    at = ring_.next(at);
  }
  return std::nullopt;
}

std::vector<double> HashRing::shares() const {
  return ring_.shares(size(), placement_ == Placement::kHaproxy);
}

}  // namespace steelyard::pick
