// `score_map`: a table from health score to a tenth of the base weight.
//
//   score ≥ 95 → 10, ≥ 85 → 8, ≥ 70 → 6, ≥ 50 → 4, ≥ 30 → 2, else 1
//   weight = base × value/10; with `absolute` the value itself, relative to the siblings' values
//
// Hysteresis: a node rises at the edge and falls only `hysteresis` points below it, edge by edge,
// so that a score on an edge does not swing the weight. Score: mean of the last 5, unrounded.
//
// Unknown: no score (404, unreadable, too old) → the mean. A report that was refused or timed out →
// the floor weight. Source: the articles' step map; they drop the base weight and so lose capacity
// differences, we multiply by it. It settles where the score says, not at equal utilisation; where
// load moves the score it wanders about an edge of the table. Cost: O(nodes × table).
#pragma once

#include <cstdint>
#include <tuple>
#include <vector>

#include "steelyard/schema/field.h"
#include "steelyard/weigh/controller.h"
#include "steelyard/weigh/per_node.h"

namespace steelyard::weigh {

struct ScoreStep {
  double from = 0;   // score at which this step begins
  double value = 1;  // tenths of the base weight

  static constexpr auto fields() {
    return std::tuple{schema::field("from", &ScoreStep::from, "Score from which on.",
                                    schema::between(0.0, 100.0), schema::required()),
                      schema::field("value", &ScoreStep::value, "Tenths of the base weight.",
                                    schema::between(0.01, 1000.0), schema::required())};
  }
};

struct ScoreMapOptions {
  // From high to low; what is below the last gets `otherwise`.
  std::vector<ScoreStep> table = {{95, 10}, {85, 8}, {70, 6}, {50, 4}, {30, 2}};
  double otherwise = 1;
  double hysteresis = 2;
  bool absolute = false;

  static constexpr auto fields() {
    return std::tuple{
        schema::field("table", &ScoreMapOptions::table,
                      "Steps from the highest score to the lowest."),
        schema::field("otherwise", &ScoreMapOptions::otherwise,
                      "Tenths of the base weight below all steps.", schema::between(0.01, 1000.0)),
        schema::field("hysteresis", &ScoreMapOptions::hysteresis,
                      "A node falls a step only this many points below its edge.",
                      schema::between(0.0, 50.0)),
        schema::field("absolute", &ScoreMapOptions::absolute,
                      "The value is the weight itself; configured weights do not count.")};
  }
  void check(schema::Faults& faults) const;
};

class ScoreMap final : public Controller {
 public:
  explicit ScoreMap(ScoreMapOptions options);
  [[nodiscard]] Law law() const noexcept override;
  void wish(std::span<const View> nodes, base::TimePoint now, std::span<Wish> out) override;
  void forget(model::NodeRef node) override { steps_.forget(node); }

  // The plain map, without hysteresis.
  [[nodiscard]] double map(double score) const noexcept { return value_of(step_of(score)); }

 private:
  [[nodiscard]] std::size_t step_of(double score) const noexcept;  // 0 = the highest
  [[nodiscard]] double value_of(std::size_t step) const noexcept;

  ScoreMapOptions options_;
  PerNode<std::size_t> steps_;
};

}  // namespace steelyard::weigh
