#include "steelyard/sense/default_score.h"

#include <algorithm>

namespace steelyard::sense {

std::optional<double> default_score(const model::LoadReport& report,
                                    std::optional<double> gc_per_minute,
                                    const ScoreRule& rule) noexcept {
  const bool anything =
      gc_per_minute || report.average_response || report.active_threads || report.memory;
  if (!anything) return std::nullopt;
  double score = 100;
  if (gc_per_minute && *gc_per_minute > rule.gc_per_minute) {
    score -= std::min(rule.gc_most, (*gc_per_minute - rule.gc_per_minute) * rule.gc_penalty);
  }
  if (report.average_response) {
    if (*report.average_response > rule.slow) score -= rule.slow_penalty;
    if (*report.average_response > rule.very_slow) score -= rule.very_slow_penalty;
  }
  if (report.active_threads && *report.active_threads > rule.threads) score -= rule.threads_penalty;
  if (report.memory && *report.memory > rule.heap) score -= rule.heap_penalty;
  return std::max(rule.floor, score);
}

}  // namespace steelyard::sense
