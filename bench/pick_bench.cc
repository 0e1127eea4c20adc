// Nanoseconds a pick: every kind of the registry over 2, 10, 100 and 10,000 nodes of mixed weights,
// idle. With `tried`: one node is excluded, as in a retry. `new_table`: making a picker and
// adopting it, what a changed weight costs.
#include <benchmark/benchmark.h>
#include <string>
#include <vector>

#include "steelyard/pick/registry.h"

namespace steelyard::pick {
namespace {

struct Nodes {
  explicit Nodes(std::int64_t count) : slots(static_cast<std::uint32_t>(count), 0) {
    for (std::int64_t i = 0; i < count; ++i) {
      model::TableNode node;
      node.ref = *slots.claim();
      node.weight = static_cast<double>(1 + i % 7);
      upstream.nodes.push_back(node);
    }
  }
  model::Slots slots;
  model::TableUpstream upstream;
};

void pick(benchmark::State& state, const Kind& kind, bool retry) {
  const Nodes nodes(state.range(0));
  base::Rng rng(1);
  const auto picker = kind.make(nodes.upstream);
  const auto cursor = picker->make_cursor(rng);
  const std::vector<model::NodeRef> tried(retry ? 1 : 0, nodes.upstream.nodes.front().ref);
  const Input in{.slots = nodes.slots, .tried = tried};
  for (auto _ : state) benchmark::DoNotOptimize(picker->pick(in, *cursor, rng));
}

void new_table(benchmark::State& state, const Kind& kind) {
  Nodes nodes(state.range(0));
  base::Rng rng(1);
  const auto cursor = kind.make(nodes.upstream)->make_cursor(rng);
  for (auto _ : state) {
    nodes.upstream.nodes.front().weight = 1 + rng.unit();
    kind.make(nodes.upstream)->adopt(*cursor);
  }
}

// Registered before main by benchmark's own means: the list is the registry's.
const bool registered = [] {
  for (const Kind& kind : kinds()) {
    const std::string name(kind.name);
    const auto sizes = [](auto* bench) { bench->Arg(2)->Arg(10)->Arg(100)->Arg(10'000); };
    sizes(benchmark::RegisterBenchmark(("pick/" + name).c_str(), pick, kind, false));
    sizes(benchmark::RegisterBenchmark(("pick_tried/" + name).c_str(), pick, kind, true));
    sizes(benchmark::RegisterBenchmark(("new_table/" + name).c_str(), new_table, kind));
  }
  return true;
}();

}  // namespace
}  // namespace steelyard::pick
