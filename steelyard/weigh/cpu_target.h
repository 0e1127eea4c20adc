// `cpu_target`: the base weight scaled towards a wanted utilisation.
//
//   weight = base × target / utilisation (EWMA 0.3)
//   above `limit` for `sustained`: the floor weight
//
// It scales the base weight, not the present one, so it has no memory: without smoothing it swings
// for ever between two splits; with it, it settles at the square root (a base weight wrong by 4×
// stays wrong by 2×). Use `capacity` unless this exact law is wanted.
//
// Unknown: no utilisation → the mean. Below 1 % it counts as 1 %. A refused or timed-out report
// leaves the node unknown once its last report has expired.
//
// Source: the articles' CPU feedback. Cost: O(nodes).
#pragma once

#include <chrono>
#include <optional>
#include <tuple>

#include "steelyard/base/time.h"
#include "steelyard/schema/field.h"
#include "steelyard/weigh/controller.h"
#include "steelyard/weigh/per_node.h"

namespace steelyard::weigh {

struct CpuTargetOptions {
  double target = 0.6;
  double limit = 0.9;
  base::Duration sustained = std::chrono::seconds(30);

  static constexpr auto fields() {
    using std::chrono::hours;
    using std::chrono::milliseconds;
    return std::tuple{
        schema::field("target", &CpuTargetOptions::target,
                      "Utilisation at which a node has its base weight.", schema::ratio(0.01, 1)),
        schema::field("limit", &CpuTargetOptions::limit,
                      "Above this for `sustained`: the floor weight.", schema::ratio(0.01, 1)),
        schema::field("sustained", &CpuTargetOptions::sustained, "How long above `limit`.",
                      schema::between(milliseconds(0), hours(1)))};
  }
  void check(schema::Faults& faults) const {
    if (limit < target && faults.good("target")) faults.error("limit", "is below target");
  }
};

class CpuTarget final : public Controller {
 public:
  explicit CpuTarget(const CpuTargetOptions& options) : options_(options) {}
  [[nodiscard]] Law law() const noexcept override { return {.smoothing = Smoothing::kEwma}; }
  void wish(std::span<const View> nodes, base::TimePoint now, std::span<Wish> out) override;
  void forget(model::NodeRef node) override { above_since_.forget(node); }

 private:
  CpuTargetOptions options_;
  PerNode<base::TimePoint> above_since_;
};

}  // namespace steelyard::weigh
