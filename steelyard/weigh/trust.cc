#include "steelyard/weigh/trust.h"

#include <algorithm>
#include <vector>

#include "steelyard/weigh/words.h"

namespace steelyard::weigh {

namespace {

// The lower middle one of an even number: with two nodes the better one is the measure.
template <typename T>
std::optional<T> median(std::vector<T>& values) {
  if (values.size() < 2) return std::nullopt;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

Trust::Trust(std::span<const View> nodes, const TrustOptions& options) : options_(options) {
  std::vector<double> errors;
  std::vector<base::Duration> latencies;
  for (const View& node : nodes) {
    if (node.seen->error_rate) errors.push_back(node.seen->error_rate->value);
    if (node.seen->latency_p50) latencies.push_back(node.seen->latency_p50->value);
  }
  errors_ = median(errors);
  latency_ = median(latencies);
}

std::optional<std::string> Trust::objection(const model::Observation& seen) const {
  if (errors_ && seen.error_rate && seen.error_rate->value > *errors_ + options_.error_margin) {
    return "its error rate is " + percent(seen.error_rate->value) + ", the upstream's median " +
           percent(*errors_);
  }
  if (!latency_ || !seen.latency_p50) return std::nullopt;
  const base::Duration mine = seen.latency_p50->value;
  const bool far = base::seconds(mine) > base::seconds(*latency_) * options_.latency_factor;
  if (!far || mine - *latency_ <= options_.latency_slack) return std::nullopt;
  return "its median latency is " + lasting(mine) + ", the upstream's " + lasting(*latency_);
}

}  // namespace steelyard::weigh
