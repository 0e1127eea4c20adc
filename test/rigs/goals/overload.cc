// L7: three times what the nodes can do. They are machines with a fixed service time, so what they
// can do is known: servers / service time.
#include <cmath>
#include <cstdio>

#include "test/rigs/goals/field.h"
#include "test/rigs/lib/open_load.h"

namespace steelyard::rigs {
namespace {

constexpr int kNodes = 4, kServers = 16;
constexpr auto kService = std::chrono::milliseconds(50);
constexpr double kCapacity = kNodes * kServers / 0.05;  // 1,280 requests a second

double ms(const base::Histogram& histogram, double q) {
  const auto value = histogram.quantile(q);
  return value ? static_cast<double>(value->count()) / 1e6 : 0;
}

// Seconds from now to the begin of the first slice with nothing but good answers that are as fast
// as before; at most 10.
double recovery_of(OpenLoad& load, double base_p99_ms) {
  constexpr double kSlice = 0.25;
  const auto from = Clock::now();
  for (;;) {
    const double at = std::chrono::duration<double>(Clock::now() - from).count();
    if (at > 10) return at;
    const auto slice = load.run(kSlice, 0);
    if (slice.good > 0 && slice.bad + slice.refused_503 == 0 &&
        ms(slice.latency, 0.99) <= 1.5 * base_p99_ms) {
      return at;
    }
  }
}

}  // namespace

Goal overload(const Settings& settings) {
  Goal goal("L7", "three times the capacity");
  const Ahead ahead;
  std::vector<std::unique_ptr<QuickNode>> nodes;
  std::vector<std::uint16_t> ports;
  for (int i = 0; i < kNodes; ++i) {
    nodes.push_back(std::make_unique<QuickNode>(
        NodeOptions{.servers = kServers, .service = kService, .cpu = kFarCpu}));
    ports.push_back(nodes.back()->port());
  }
  // Connections that nobody has used yet outlive the run: else their end meets a request now and
  // then, which a client sends again and the load takes for a failure.
  const auto ours = start_ours(settings, ports,
                               {.upstream = "    limits: { concurrency: gradient }\n",
                                .top = "clients: { head_timeout: 60s }\n"});
  if (ours == nullptr) {
    goal.broken("steelyard did not start");
    return goal;
  }
  pin_this_thread(kFarCpu);
  exact_timers();
  OpenLoad load({.to = {"127.0.0.1", ours->port()}, .rate = kCapacity / 2, .connections = 2000});
  if (!load.open()) {
    goal.broken("no connection");
    return goal;
  }
  (void)load.run(12, 0);  // it learns what is usual
  const Watch watch({ours->process().pid()});
  const auto base = load.run(4, 0.5);
  const double base_p99 = ms(base.latency, 0.99);
  load.rate(3 * kCapacity);
  const auto full = load.run(15, 0);
  load.rate(kCapacity / 2);
  const double recovery = recovery_of(load, base_p99);
  goal.others(watch.others());
  goal.at_least("goodput, of the capacity",
                static_cast<double>(full.good) / full.seconds / kCapacity * 100, 90, " %");
  goal.at_most("503 after (p99)", ms(full.refusal, 0.99), 50, " ms");
  goal.at_most("admitted p99, of before", ms(full.latency, 0.99) / base_p99, 3, "×");
  goal.at_most("neither 200 nor 503", static_cast<double>(full.bad + full.connect_failures), 0, "");
  goal.at_most("back after", recovery, 2, " s");
  char text[120];
  (void)std::snprintf(
      text, sizeof text,
      "p99 before %.1f ms; 503: %.0f %% of %.0f requests/s; %.0f connections broke off", base_p99,
      static_cast<double>(full.refused_503) / static_cast<double>(full.due) * 100, 3 * kCapacity,
      static_cast<double>(full.broken));
  goal.note(text);
  return goal;
}

}  // namespace steelyard::rigs
