// What a controller remembers of each node, by slot; another generation of the slot is another node
// and starts anew.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <utility>

#include "steelyard/model/node_ref.h"

namespace steelyard::weigh {

template <typename T>
class PerNode {
 public:
  // Null when nothing is remembered.
  [[nodiscard]] T* find(model::NodeRef node) noexcept {
    const auto at = entries_.find(node.slot);
    return at == entries_.end() || at->second.first != node.generation ? nullptr
                                                                       : &at->second.second;
  }
  T& put(model::NodeRef node, T value) {
    auto& entry = entries_[node.slot];
    entry = {node.generation, std::move(value)};
    return entry.second;
  }
  void forget(model::NodeRef node) {
    if (find(node) != nullptr) entries_.erase(node.slot);
  }
  [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }

 private:
  std::unordered_map<std::uint32_t, std::pair<std::uint32_t, T>> entries_;
};

}  // namespace steelyard::weigh
