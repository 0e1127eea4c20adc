#include "steelyard/weigh/factors.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "steelyard/weigh/words.h"

namespace steelyard::weigh {

namespace {

std::optional<base::Duration> latency_of(const model::Observation& seen) {
  if (seen.latency_mean) return seen.latency_mean->value;
  if (seen.reported_latency) return seen.reported_latency->value;
  return std::nullopt;
}

double latency_factor(base::Duration latency, const FactorsOptions& options) {
  return std::max(options.latency_least,
                  1 / (1 + base::seconds(latency) / base::seconds(options.latency_unit)));
}

double throughput_of(const model::Observation& seen) {
  if (!seen.rate || !seen.mean_rate || seen.mean_rate->value <= 0 || seen.rate->value < 0) return 1;
  return seen.rate->value / seen.mean_rate->value;
}

}  // namespace

void Factors::wish(std::span<const View> nodes, base::TimePoint, std::span<Wish> out) {
  double sum = 0;
  double measured = 0;
  for (const View& node : nodes) {
    const auto latency = latency_of(*node.seen);
    if (!latency) continue;
    sum += latency_factor(*latency, options_);
    ++measured;
  }
  const double siblings = measured > 0 ? sum / measured : 1;

  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const View& node = nodes[i];
    Wish& wish = out[i];
    if (node.seen->report_failed) {
      wish.known = wish.floor = true;
      if (node.explain) wish.why = "asking for its score failed: the floor weight";
      continue;
    }
    if (!node.seen->score) {
      if (node.explain) wish.why = "no score known";
      continue;
    }
    const double score = node.seen->score->value;
    const double throughput = std::min(throughput_of(*node.seen), options_.throughput_most);
    const auto latency = latency_of(*node.seen);
    const double latency_part = latency ? latency_factor(*latency, options_) : siblings;
    const double factor = options_.health * score / 100 + options_.throughput * throughput +
                          options_.latency * latency_part;
    const double weight =
        options_.round ? std::max(1.0, std::round(node.base * factor)) : node.base * factor;
    wish.known = weight > 0;
    wish.value = weight / node.base;
    if (node.explain) {
      wish.why = "score " + decimal(score) + ", throughput ×" + decimal(throughput) + ", latency " +
                 (latency ? lasting(*latency) : std::string("unknown")) + " → factor " +
                 decimal(factor);
    }
  }
}

}  // namespace steelyard::weigh
