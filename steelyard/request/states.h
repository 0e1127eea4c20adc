// States: what one worker keeps of each upstream from request to request: its retry budget, how
// long it takes to answer, who waits for it, which nodes asked for rest, how much a node takes.
//
// `adopt` once for each new Table or Config: upstreams carry theirs over by name, nodes by NodeRef.
// It also writes the nodes' concurrency limits (model::NodeLine), which all workers share: a static
// one as configured, a gradient's where it begins. An upstream that vanished keeps its state,
// behind those of the Table, until nobody waits for it any more. Addresses of States stay. One
// worker.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "steelyard/model/slots.h"
#include "steelyard/model/table.h"
#include "steelyard/request/budget.h"
#include "steelyard/request/gradient.h"
#include "steelyard/request/key.h"
#include "steelyard/request/latency.h"
#include "steelyard/request/queue.h"
#include "steelyard/request/upstream_options.h"

namespace steelyard::request {

// Nodes with a time each until which something holds of them.
class Rests {
 public:
  static constexpr std::size_t kMost = 16;
  // What a node may ask for at most; it can take itself out of rotation, but not for ever.
  static constexpr base::Duration kLongest = std::chrono::seconds(60);

  void add(model::NodeRef node, base::Duration rest, base::TimePoint now) noexcept;
  // Those still resting, written to `out`; gives their number.
  std::size_t copy(std::span<model::NodeRef> out, base::TimePoint now) noexcept;
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }

 private:
  struct Rest {
    model::NodeRef node;
    base::TimePoint until{};
  };
  std::array<Rest, kMost> rests_{};
  std::size_t size_ = 0;
};

class UpstreamState {
 public:
  UpstreamState(std::uint32_t workers, std::uint32_t worker) noexcept
      : budget(workers), worker_(worker) {}

  void adopt(const model::TableUpstream& upstream, const UpstreamRules& with,
             const model::Slots& slots);
  // An answer of the node, at `at` in the Table when it was picked.
  void answered(model::NodeRef node, std::uint32_t at, base::Duration took,
                const model::Slots& slots, base::TimePoint now) noexcept;

  UpstreamRules rules;
  KeySource key;  // of `rules`
  Budget budget;
  Latency latency;
  Queue queue;
  Rests rests;    // said Retry-After: others are picked meanwhile, as long as there are others
  Rests refused;  // connections, a moment ago: where all did, the answer is kNoNode

 private:
  void tell(model::NodeRef node, const Gradient& gradient,
            const model::Slots& slots) const noexcept;

  struct NodeGradient {
    model::NodeRef node;
    Gradient gradient;
  };
  std::uint32_t worker_;
  std::vector<NodeGradient> gradients_;  // in the order of the Table; empty unless wanted
};

class States {
 public:
  explicit States(std::uint32_t workers = 1, std::uint32_t worker = 0) noexcept
      : workers_(workers), worker_(worker) {}

  // `names[i]` goes by `rules[i]`; upstreams that are not named have no limits. Allocates.
  void adopt(const model::Table& table, std::span<const std::string> names,
             std::span<const UpstreamRules> rules, const model::Slots& slots);

  // By place in the Table adopted last; beyond its upstreams those that vanished.
  [[nodiscard]] UpstreamState& at(std::size_t place) noexcept { return *entries_[place].state; }
  [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }
  [[nodiscard]] std::size_t waiting() const noexcept;

 private:
  struct Entry {
    std::string upstream;
    std::unique_ptr<UpstreamState> state;
  };
  std::vector<Entry> entries_;
  std::uint32_t workers_;
  std::uint32_t worker_;  // which of them this is
};

}  // namespace steelyard::request
