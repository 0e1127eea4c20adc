// `capacity`: a node's weight is the work it would do if it were full.
//
//   weight = rate / (utilisation + error rate × penalty)
//
// Rate and utilisation are averaged over the same time (sense), so their quotient does not depend
// on the split that happens to be in force: it needs no gain, is right after one step where load is
// all that uses a node, and with a background load its fixed point has all utilisations equal. The
// error rate is the share of failed attempts.
//
// Unknown: utilisation or rate missing, 0, or older than `expiry` → the mean of the known nodes
// (control 1); fewer than two known → the base weights. A node counts only after it has reported
// for `blackout`, also after a silence; until then it keeps its weight. A refused or timed-out
// report leaves a node unknown once its last report has expired; health judges the refusal.
//
// Source: gRPC proposal A58. Vectors: 100/s at 0.5 with 10 % errors → 166.67; without errors 200.
// Cost: O(nodes).
#pragma once

#include <chrono>
#include <tuple>

#include "steelyard/base/time.h"
#include "steelyard/schema/field.h"
#include "steelyard/weigh/controller.h"
#include "steelyard/weigh/per_node.h"

namespace steelyard::weigh {

struct CapacityOptions {
  double penalty = 1;
  base::Duration blackout = std::chrono::seconds(10);
  base::Duration expiry = std::chrono::minutes(3);

  static constexpr auto fields() {
    using std::chrono::hours;
    using std::chrono::milliseconds;
    return std::tuple{
        schema::field("penalty", &CapacityOptions::penalty,
                      "What an error rate of 1 adds to the utilisation.",
                      schema::between(0.0, 1000.0)),
        schema::field("blackout", &CapacityOptions::blackout,
                      "A node's reports count only after this long, also after a silence.",
                      schema::between(milliseconds(0), hours(1))),
        schema::field(
            "expiry", &CapacityOptions::expiry,
            "A report older than this counts as unknown (`sense.score.expiry` may end earlier).",
            schema::between(milliseconds(100), hours(24)))};
  }
};

class Capacity final : public Controller {
 public:
  explicit Capacity(const CapacityOptions& options) : options_(options) {}
  [[nodiscard]] Law law() const noexcept override {
    return {.scale = Scale::kAbsolute, .smoothing = Smoothing::kEwma, .min_known = 2};
  }
  void wish(std::span<const View> nodes, base::TimePoint now, std::span<Wish> out) override;
  void forget(model::NodeRef node) override { reporting_since_.forget(node); }

  // The formula. utilisation > 0.
  [[nodiscard]] static double weight(double rate, double utilisation, double error_rate,
                                     double penalty) noexcept {
    return rate / (utilisation + error_rate * penalty);
  }

 private:
  CapacityOptions options_;
  PerNode<base::TimePoint> reporting_since_;
};

}  // namespace steelyard::weigh
