// The default health score, for a report without one.
//
//   100
//   collections above 5 a minute: −2 each, at most −20
//   mean response > 500 ms: −15; > 1000 ms: 20 more
//   threads > 100: −10
//   heap > 85 %: −10
//   never below 10
//
// What was not reported costs nothing; a report with none of these facts has no score (unknown, not
// 100). Source: the articles' table.
#pragma once

#include <optional>

#include "steelyard/base/time.h"
#include "steelyard/model/sample.h"

namespace steelyard::sense {

struct ScoreRule {
  double gc_per_minute = 5;  // free collections a minute
  double gc_penalty = 2;     // for each above
  double gc_most = 20;
  base::Duration slow = std::chrono::milliseconds(500);
  double slow_penalty = 15;
  base::Duration very_slow = std::chrono::milliseconds(1000);
  double very_slow_penalty = 20;  // on top of slow_penalty
  double threads = 100;
  double threads_penalty = 10;
  double heap = 0.85;
  double heap_penalty = 10;
  double floor = 10;
};

[[nodiscard]] std::optional<double> default_score(const model::LoadReport& report,
                                                  std::optional<double> gc_per_minute,
                                                  const ScoreRule& rule = {}) noexcept;

}  // namespace steelyard::sense
