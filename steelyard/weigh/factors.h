// `factors`: health, throughput and latency in one formula.
//
//   weight = max(1, round(base × (0.4·score/100 + 0.3·min(T, 2) + 0.3·max(0.1, L))))
//   T = rate / the node's own mean rate over a long time,  L = 1 / (1 + latency / 200 ms)
//
// With base 10: 10 at score 100, T = 1, 0 ms; the real maximum is 13 (T = 2), the least 0.7 → 1.
// With base weights near 1 rounding leaves nothing of it: give weights of about 10, or turn `round`
// off. T is positive feedback (less traffic → lower factor → less traffic), bounded only by
// `throughput_most` and by the stabilisers.
//
// Unknown: no score → the mean. No rate or mean rate: T = 1. No latency of ours: what the node
// reports, else the siblings' mean factor, so that an unmeasured node is not the fastest. A refused
// or timed-out report: the floor weight.
//
// Source: the articles' multi-factor formula. Cost: O(nodes).
#pragma once

#include <chrono>
#include <tuple>

#include "steelyard/base/time.h"
#include "steelyard/schema/field.h"
#include "steelyard/weigh/controller.h"

namespace steelyard::weigh {

struct FactorsOptions {
  double health = 0.4;
  double throughput = 0.3;
  double latency = 0.3;
  double throughput_most = 2;
  base::Duration latency_unit = std::chrono::milliseconds(200);
  double latency_least = 0.1;
  bool round = true;

  static constexpr auto fields() {
    using std::chrono::milliseconds;
    using std::chrono::minutes;
    return std::tuple{
        schema::field("health", &FactorsOptions::health, "Part of the score.",
                      schema::between(0.0, 10.0)),
        schema::field("throughput", &FactorsOptions::throughput, "Part of the throughput.",
                      schema::between(0.0, 10.0)),
        schema::field("latency", &FactorsOptions::latency, "Part of the latency.",
                      schema::between(0.0, 10.0)),
        schema::field("throughput_most", &FactorsOptions::throughput_most,
                      "Most that rate over usual rate may count.", schema::between(0.0, 100.0)),
        schema::field("latency_unit", &FactorsOptions::latency_unit,
                      "Latency at which its factor is one half.",
                      schema::between(milliseconds(1), minutes(10))),
        schema::field("latency_least", &FactorsOptions::latency_least, "Least latency factor.",
                      schema::ratio(0, 1)),
        schema::field("round", &FactorsOptions::round,
                      "Round weights to whole numbers of at least 1.")};
  }
  void check(schema::Faults& faults) const {
    const bool known = faults.good("throughput") && faults.good("latency");
    if (known && health + throughput + latency <= 0)
      faults.error("health", "and throughput and latency cannot all be 0");
  }
};

class Factors final : public Controller {
 public:
  explicit Factors(const FactorsOptions& options) : options_(options) {}
  [[nodiscard]] Law law() const noexcept override { return {.smoothing = Smoothing::kMean}; }
  void wish(std::span<const View> nodes, base::TimePoint now, std::span<Wish> out) override;
  void forget(model::NodeRef) override {}

 private:
  FactorsOptions options_;
};

}  // namespace steelyard::weigh
