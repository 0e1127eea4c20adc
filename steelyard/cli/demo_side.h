// DemoSide: one half of the demo: five nodes, a balancer over them, and a load on it.
//
// Nodes and load run on a thread of their own, so that they hinder the balancer no more than other
// machines would; the engine's control is on the caller's reactor. Calls are on the caller's
// thread.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "steelyard/cli/demo_report.h"
#include "steelyard/cli/engine.h"
#include "steelyard/cli/service_model.h"

namespace steelyard::cli {

inline constexpr std::array<unsigned, 5> kDemoCores{8, 8, 4, 4, 2};
inline constexpr std::size_t kDemoIll = 1;  // node-b
inline constexpr base::Duration kDemoService = std::chrono::milliseconds(50);
inline constexpr double kDemoLoad = 0.6;  // of the total capacity

struct DemoSideOptions {
  bool senses = true;  // false: static weights, smooth weighted round robin, no sensing
  std::string admin;   // address of the API
  std::uint64_t seed = 1;
};

class DemoSide {
 public:
  DemoSide(io::Reactor& reactor, Log& log, const DemoSideOptions& options);
  ~DemoSide();

  base::Result<void> start();
  void set_phase(Phase phase);  // the illness begins and ends with it
  [[nodiscard]] Engine& engine() noexcept { return *engine_; }
  // Ends the load, waits for open requests, then for the engine. `reactor` must turn meanwhile.
  void finish();
  [[nodiscard]] const DemoStats& stats() const noexcept { return stats_; }  // after finish

 private:
  struct World;  // what lives on the other thread
  io::Reactor& reactor_;
  Log& log_;
  DemoSideOptions options_;
  std::unique_ptr<io::Provider> provider_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<World> world_;
  DemoStats stats_;
};

}  // namespace steelyard::cli
