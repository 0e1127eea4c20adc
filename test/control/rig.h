// A Brain with slots, virtual time and hands: what workers count, what probes report.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "steelyard/control/brain.h"

namespace steelyard::control {

using namespace std::chrono_literals;
using model::Change;
using model::Eligibility;

inline model::NodeSpec node(std::string name, double weight = 1, std::uint16_t port = 0) {
  const auto sum = static_cast<std::uint16_t>(name.back() * 7 + static_cast<int>(name.size()));
  return {std::move(name),
          base::Address::loopback(port != 0 ? port : static_cast<std::uint16_t>(8000 + sum)),
          weight};
}

inline UpstreamSetup upstream(std::string name, std::vector<model::NodeSpec> nodes) {
  UpstreamSetup setup;
  setup.spec = {std::move(name), std::move(nodes)};
  return setup;
}

struct Rig {
  explicit Rig(Setup first, std::uint32_t capacity = 64, std::uint32_t workers = 2)
      : slots(capacity, workers), brain(slots), setup(std::move(first)) {
    configured = brain.configure(setup, now);
    if (configured) tick();
  }

  Tick tick(base::Duration d = 100ms) {
    now += d;
    Tick t = brain.tick(now);
    decisions.insert(decisions.end(), t.decisions.begin(), t.decisions.end());
    return t;
  }
  void run(base::Duration d) {
    for (const auto end = now + d; now < end;) tick();
  }
  base::Result<void> reload(Setup next) {
    setup = std::move(next);
    return brain.configure(setup, now);
  }
  [[nodiscard]] model::NodeRef ref(std::string_view name, std::string_view up = "api") const {
    return brain.find(up, name);
  }
  model::WorkerCells& cells(std::string_view name, std::uint32_t worker = 0) {
    return slots.cells(ref(name), worker);
  }
  void answer(std::string_view name, int times = 1, std::uint32_t worker = 0) {
    for (int i = 0; i < times; ++i) {
      auto& c = cells(name, worker);
      c.attempts.add(1), c.successes.add(1), c.failure_streak.set(0), c.head_latency.add(5ms);
    }
  }
  void fail(std::string_view name, int times = 1, std::uint32_t worker = 0) {
    for (int i = 0; i < times; ++i) {
      auto& c = cells(name, worker);
      c.attempts.add(1), c.failures.add(1), c.failure_streak.add(1);
    }
  }
  void refuse(std::string_view name, std::uint32_t worker = 0) {
    auto& c = cells(name, worker);
    c.attempts.add(1), c.connect_failures.add(1), c.refused.add(1), c.failure_streak.add(1);
  }
  void check(std::string_view name, model::CheckOutcome outcome) {
    brain.observe(model::CheckSample{ref(name), now, outcome, {}, ""});
  }
  void score(std::string_view name, double value) {
    model::ReportSample sample{ref(name), now, model::ReportOutcome::kOk, {}, {}};
    sample.report.score = value;
    brain.observe(sample);
  }
  [[nodiscard]] const model::TableNode& at(std::string_view name,
                                           std::string_view up = "api") const {
    return *brain.table()->find(up)->find(name);
  }
  [[nodiscard]] double share(std::string_view name, std::string_view up = "api") const {
    const auto& nodes = brain.table()->find(up)->nodes;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (nodes[i].name == name) return brain.table()->find(up)->share(i);
    }
    return -1;
  }
  // The newest decision about the node, or about the upstream for an empty name.
  [[nodiscard]] const model::Decision* last(std::string_view name) const {
    for (auto d = decisions.rbegin(); d != decisions.rend(); ++d) {
      if (d->node.name == name) return &*d;
    }
    return nullptr;
  }
  [[nodiscard]] std::string last_reason(std::string_view name) const {
    return last(name) ? last(name)->reason : "(none)";
  }

  model::Slots slots;
  Brain brain;
  Setup setup;
  base::TimePoint now{1000s};
  base::Result<void> configured;
  std::vector<model::Decision> decisions;
};

}  // namespace steelyard::control
