// A group of nodes with its Table, for tests of what picks and counts.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "steelyard/base/rng.h"
#include "steelyard/pick/cursors.h"
#include "steelyard/pick/table.h"
#include "steelyard/request/exchange.h"

namespace steelyard::request::testing {

using namespace std::chrono_literals;

inline base::TimePoint at(base::Duration since_start) {
  return base::TimePoint(1000s) + since_start;
}

// `count` nodes "a", "b", … of one upstream, in turn (round robin from a seeded phase).
struct Rig {
  explicit Rig(unsigned count, std::string_view picker = "round_robin", std::uint32_t workers = 1)
      : slots(64, workers) {
    for (unsigned i = 0; i < count; ++i) {
      model::TableNode node;
      node.ref = *slots.claim();
      node.name = std::string(1, static_cast<char>('a' + i));
      node.address = base::Address::loopback(static_cast<std::uint16_t>(9001 + i));
      nodes.push_back(node);
    }
    kind = pick::find(picker);
    publish();
  }
  void publish() {
    auto made = std::make_shared<model::Table>();
    made->number = ++number;
    if (!gone) made->upstreams.push_back({"api", nodes, panic});
    std::vector<pick::Chosen> kinds(made->upstreams.size(), kind);
    // The former Table dies: nothing may point into it.
    table = pick::Table::make(std::move(made), kinds);
    cursors.adopt(*table, rng);
    states.adopt(*table->model, std::vector<std::string>{"api"}, std::vector{rules}, slots);
  }
  Place place() {
    return {*table, gone ? std::nullopt : std::optional<std::uint32_t>(0), cursors, slots, 0, rng,
            states};
  }
  UpstreamState& state() { return states.at(0); }
  model::WorkerCells& cells(unsigned i) { return slots.cells(nodes[i].ref, 0); }
  unsigned in_flight() {
    unsigned sum = 0;
    for (const auto& node : nodes) sum += slots.in_flight(node.ref);
    return sum;
  }
  unsigned index(model::NodeRef ref) {
    for (unsigned i = 0; i < nodes.size(); ++i) {
      if (nodes[i].ref == ref) return i;
    }
    return 99;
  }

  model::Slots slots;
  std::vector<model::TableNode> nodes;
  const pick::Kind* kind = nullptr;
  std::uint64_t number = 0;
  bool panic = false;
  bool gone = false;
  std::shared_ptr<const pick::Table> table;
  pick::Cursors cursors;
  UpstreamRules rules{.retry_budget = BudgetOptions{}, .limits = {}, .queue = {.size = 0}};
  States states{1};
  base::Rng rng{7};
};

inline base::Error node_error(base::Code code, bool unsent) {
  return {code, base::Origin::kNode, unsent, {}};
}

}  // namespace steelyard::request::testing
