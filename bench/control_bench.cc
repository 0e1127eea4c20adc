// What a tick costs: 1,000 nodes in ten upstreams, two workers. At a tick every 100 ms, 1 ms of it
// is 1 % of a core.

#include <benchmark/benchmark.h>
#include <string>

#include "steelyard/base/rng.h"
#include "steelyard/control/brain.h"

namespace {

using namespace std::chrono_literals;
namespace control = steelyard::control;
namespace model = steelyard::model;
namespace base = steelyard::base;

constexpr int kUpstreams = 10;
constexpr int kNodes = 100;

control::Setup big_setup() {
  control::Setup setup;
  for (int u = 0; u < kUpstreams; ++u) {
    control::UpstreamSetup& up = setup.upstreams.emplace_back();
    up.spec.name = "upstream-" + std::to_string(u);
    up.sense.score = steelyard::sense::ScoreOptions{.interval = 1s};
    for (int n = 0; n < kNodes; ++n) {
      up.spec.nodes.push_back({"node-" + std::to_string(n),
                               base::Address::loopback(static_cast<std::uint16_t>(1000 + n)), 4});
    }
  }
  return setup;
}

struct World {
  World() : slots(2048, 2), brain(slots) {
    (void)brain.configure(big_setup(), now);
    table = brain.tick(now).table;
  }
  void traffic() {
    for (const auto& up : table->upstreams) {
      for (const auto& node : up.nodes) {
        auto& cells = slots.cells(node.ref, static_cast<std::uint32_t>(rng.below(2)));
        cells.attempts.add(1);
        cells.successes.add(1);
        cells.failure_streak.set(0);
        cells.head_latency.add(std::chrono::microseconds(rng.below(50000)));
      }
    }
  }
  // A tenth of the nodes reports in each tick: once a second each.
  void reports(std::uint64_t tick) {
    for (const auto& up : table->upstreams) {
      for (std::size_t n = tick % 10; n < up.nodes.size(); n += 10) {
        model::ReportSample sample{up.nodes[n].ref, now, model::ReportOutcome::kOk, {}, {}};
        sample.report.score = static_cast<double>(40 + rng.below(60));
        brain.observe(sample);
      }
    }
  }

  base::Rng rng{1};
  base::TimePoint now{1000s};
  model::Slots slots;
  control::Brain brain;
  std::shared_ptr<const model::Table> table;
};

void tick_idle(benchmark::State& state) {
  World world;
  for (auto _ : state) {
    world.now += 100ms;
    benchmark::DoNotOptimize(world.brain.tick(world.now));
  }
}
BENCHMARK(tick_idle)->Unit(benchmark::kMillisecond);

void tick_with_traffic_and_reports(benchmark::State& state) {
  World world;
  std::uint64_t ticks = 0;
  for (auto _ : state) {
    state.PauseTiming();
    world.now += 100ms;
    world.traffic();
    world.reports(ticks++);
    state.ResumeTiming();
    benchmark::DoNotOptimize(world.brain.tick(world.now));
  }
}
BENCHMARK(tick_with_traffic_and_reports)->Unit(benchmark::kMillisecond);

void save_state(benchmark::State& state) {
  World world;
  for (auto _ : state) benchmark::DoNotOptimize(world.brain.save(world.now));
}
BENCHMARK(save_state)->Unit(benchmark::kMillisecond);

void views(benchmark::State& state) {
  World world;
  for (auto _ : state) benchmark::DoNotOptimize(world.brain.views(world.now));
}
BENCHMARK(views)->Unit(benchmark::kMillisecond);

}  // namespace
