// The stabilisers of one node, in their fixed order: trust → threshold → step → cooldown.
//
//   trust      a rise against which our own measurements object is not made
//   threshold  |wanted − applied| / applied below the threshold is not made
//   step       ln applied moves by gain(lag) × ln(wanted/applied) (gain.h), at most ×up and ÷down
//   cooldown   no change until `cooldown` after the last one
//
// A wanted drop to half or less skips threshold, damping and cooldown, never the step limit.
// Smoothing came before (in the observation), floor and cap come after (bound.h). Once per new
// sample; pure. Cost: O(1).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "steelyard/base/time.h"
#include "steelyard/model/decision.h"
#include "steelyard/weigh/options.h"

namespace steelyard::weigh {

struct Move {
  double base = 1;     // > 0
  double applied = 1;  // control now, > 0
  double wanted = 1;   // control wanted, > 0
  double lag = 0;      // delay of the signal, in steps of this loop
  double alpha = 1;    // smoothing of the signal; 1: none, or a window that `lag` already counts
  std::optional<base::Duration> since_change;  // empty: never changed
  std::optional<std::string> objection;        // of Trust
};

struct Moved {
  double control = 1;
  bool held = false;  // a wanted change was not made at all
};

// Appends a StageValue for each stage, values in base units.
Moved stabilise(const Move& move, const Limits& limits, std::vector<model::StageValue>& stages);

// Controls closer than this are equal.
inline constexpr double kSame = 1e-9;
[[nodiscard]] bool same(double a, double b) noexcept;

}  // namespace steelyard::weigh
