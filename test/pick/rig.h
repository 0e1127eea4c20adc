// What the tests of pick/ share: an upstream with live slots, and counting of picks.
#pragma once

#include <cmath>
#include <initializer_list>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "steelyard/pick/registry.h"

namespace steelyard::pick {

// For GoogleTest's messages and the names of parameterised tests.
inline void PrintTo(const Kind* kind, std::ostream* out) { *out << kind->name; }

// Exact kinds stay within a few picks of the share; the others within the spread of a random draw.
inline bool exact(const Kind& kind) { return kind.share_bound < 1e-4; }
// How far a node's share may be from that of its weight, relative, as one standard deviation: a
// ring's points fall where they fall.
inline double unevenness(const Kind& kind) { return kind.name == "ring" ? 0.08 : 0; }
inline bool random_draws(const Kind& kind) { return kind.share_bound > 2e-3; }

struct Rig {
  explicit Rig(std::initializer_list<double> weights) : Rig(std::vector<double>(weights)) {}
  explicit Rig(const std::vector<double>& weights, std::uint32_t spare = 16)
      : slots(static_cast<std::uint32_t>(weights.size()) + spare, 0) {
    upstream.name = "u";
    for (const double weight : weights) add(weight);
  }

  model::TableNode& add(double weight,
                        model::Eligibility eligibility = model::Eligibility::kUsable) {
    model::TableNode node;
    node.ref = *slots.claim();
    // a … z, then a1 …: names are what nodes are known by.
    const auto place = upstream.nodes.size();
    node.name = std::string(1, static_cast<char>('a' + place % 26));
    if (place >= 26) node.name += std::to_string(place / 26);
    node.weight = weight;
    node.eligibility = eligibility;
    upstream.nodes.push_back(node);
    return upstream.nodes.back();
  }
  [[nodiscard]] model::NodeLine& line(std::size_t at) const {
    return slots.line(upstream.nodes[at].ref);
  }
  [[nodiscard]] Input input(std::span<const model::NodeRef> tried = {}) const {
    return Input{.slots = slots, .tried = tried};
  }
  // Upstream order, for lists that only differ in order.
  [[nodiscard]] model::TableUpstream ordered(const std::vector<std::size_t>& order) const {
    model::TableUpstream out{.name = upstream.name, .nodes = {}, .panic = upstream.panic};
    for (const std::size_t at : order) out.nodes.push_back(upstream.nodes[at]);
    return out;
  }
  // Exact share of a node under a picker of this kind, among the nodes that get picks at all.
  [[nodiscard]] double share(const Kind& kind, std::size_t at) const {
    if (const auto own = kind.make(upstream)->share(static_cast<Index>(at))) return *own;
    double sum = 0;
    for (const auto& node : upstream.nodes) sum += part(kind, node);
    return part(kind, upstream.nodes[at]) / sum;
  }

  model::Slots slots;
  model::TableUpstream upstream;

 private:
  [[nodiscard]] double part(const Kind& kind, const model::TableNode& node) const {
    if (!model::in_rotation(node.eligibility, upstream.panic) || !(node.weight > 0)) return 0;
    return kind.weighted ? node.weight : 1;
  }
};

// The next picks as letters: node 0 is a, node 1 is b …; nothing is '-'.
inline std::string letters(const Picker& picker, const Input& in, Cursor& cursor, base::Rng& rng,
                           int picks) {
  std::string out;
  for (int i = 0; i < picks; ++i) {
    const auto at = picker.pick(in, cursor, rng);
    out += at ? static_cast<char>('a' + *at) : '-';
  }
  return out;
}

// Longest run of one letter in the sequence repeated for ever.
inline std::size_t longest_run(std::string_view period) {
  const std::string twice = std::string(period) + std::string(period);
  std::size_t longest = 0;
  std::size_t run = 0;
  for (std::size_t i = 0; i < twice.size(); ++i) {
    run = i > 0 && twice[i] == twice[i - 1] ? run + 1 : 1;
    longest = std::max(longest, run);
  }
  return std::min(longest, period.size());
}

}  // namespace steelyard::pick
