// A gate with what is around it, for its tests.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <utility>

#include "steelyard/health/gate.h"

namespace steelyard::health {

using namespace std::chrono_literals;
using model::CheckOutcome;

inline constexpr base::TimePoint kStart{1000s};

inline Options active_options() {
  Options options;
  options.active = ActiveOptions{.http = HttpCheck{}};
  return options;
}

// A gate with the things around it: time, and counters as the workers would keep them.
struct Rig {
  explicit Rig(Options o, Start start = Start::kWithAll)
      : options(std::move(o)), gate(options, start, kStart) {}

  void check(CheckOutcome outcome, const std::string& detail = "") {
    gate.check(options, {model::NodeRef{0, 1}, now, outcome, {}, detail});
    gate.tick(options, now);
  }
  // One letter a request: `+` answered, `-` failed, `r` refused, `t` not connected in time.
  void requests(std::string_view what, bool may_eject = true) {
    for (const char c : what) {
      ++counters.attempts;
      if (c == '+') ++counters.successes;
      if (c == '-') ++counters.failures;
      if (c == 'r') ++counters.connect_failures, ++counters.refused;
      if (c == 't') ++counters.connect_failures;
      counters.failure_streak = c == '+' ? 0 : counters.failure_streak + 1;
    }
    sample(may_eject);
  }
  void sample(bool may_eject = true) {
    counters.at = now;
    gate.traffic(options, counters, may_eject, panic);
    gate.tick(options, now);
    if (gate.streak_epoch() != epoch) {
      epoch = gate.streak_epoch();
      counters.failure_streak = 0;
    }
  }
  void pass(base::Duration d) {
    now += d;
    sample();
  }

  Options options;
  Gate gate;
  base::TimePoint now = kStart;
  model::TrafficSample counters;
  std::uint32_t epoch = 0;
  bool panic = false;
};

}  // namespace steelyard::health
