// NodeRef: which slot a node lives in, and which use of that slot. A node's identity for people is
// (upstream, name).
//
// Slots never move and are reused; the generation grows at each reuse, so an old NodeRef (a late
// event, a `tried` entry) never matches the slot's new owner. A default NodeRef matches nothing.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

namespace steelyard::model {

struct NodeRef {
  static constexpr std::uint32_t kNoSlot = 0xffffffff;
  std::uint32_t slot = kNoSlot;
  std::uint32_t generation = 0;

  [[nodiscard]] bool valid() const noexcept { return slot != kNoSlot; }
  friend bool operator==(NodeRef, NodeRef) = default;
  friend auto operator<=>(NodeRef, NodeRef) = default;
};

struct NodeId {
  std::string upstream;
  std::string name;
  friend bool operator==(const NodeId&, const NodeId&) = default;
  friend auto operator<=>(const NodeId&, const NodeId&) = default;
};

}  // namespace steelyard::model
