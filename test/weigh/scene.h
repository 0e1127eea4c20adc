// What the tests of this folder share: an upstream of observations that are set by hand and stepped
// in virtual time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "steelyard/base/time.h"
#include "steelyard/model/observation.h"
#include "steelyard/weigh/weigher.h"

namespace steelyard::weigh {

inline base::TimePoint at(double second) {
  return base::TimePoint(std::chrono::hours(1)) + base::from_seconds(second);
}

// Nodes with base weights; each `report_*` is a new report at the scene's time.
class Scene {
 public:
  explicit Scene(std::vector<double> bases)
      : bases_(std::move(bases)), seen(bases_.size()), in_service(bases_.size(), true) {}

  void report_score(std::size_t node, double score) {
    put(seen[node].score, score);
    count(node);
  }
  void report_utilisation(std::size_t node, double utilisation) {
    put(seen[node].utilisation, utilisation);
    count(node);
  }
  void report_refused(std::size_t node) {
    count(node);
    seen[node].report_failed = true;
  }
  void report_nothing(std::size_t node) {  // 404
    seen[node].score.reset();
    seen[node].utilisation.reset();
    count(node);
  }
  void measure_rate(std::size_t node, double rate) { put(seen[node].rate, rate); }
  void measure_errors(std::size_t node, double rate) { put(seen[node].error_rate, rate); }
  void measure_latency(std::size_t node, base::Duration p50) { put(seen[node].latency_p50, p50); }

  void step(Weigher& weigher) {
    inputs_.clear();
    for (std::size_t i = 0; i < bases_.size(); ++i) {
      inputs_.push_back({ref(i), "node", bases_[i], &seen[i], static_cast<bool>(in_service[i])});
    }
    weigher.step(inputs_, now, out);
  }
  void pass(double seconds) { now += base::from_seconds(seconds); }

  [[nodiscard]] static model::NodeRef ref(std::size_t node) {
    return {static_cast<std::uint32_t>(node), 1};
  }
  [[nodiscard]] std::size_t size() const { return bases_.size(); }
  [[nodiscard]] double base(std::size_t node) const { return bases_[node]; }
  [[nodiscard]] double weight(std::size_t node) const { return bases_[node] * out[node].control; }
  [[nodiscard]] double share(std::size_t node) const {
    double sum = 0;
    for (std::size_t i = 0; i < size(); ++i) sum += in_service[i] ? weight(i) : 0;
    return weight(node) / sum;
  }
  [[nodiscard]] const model::StageValue* stage(std::size_t node, std::string_view name) const {
    for (const model::StageValue& stage : out[node].stages) {
      if (stage.stage == name) return &stage;
    }
    return nullptr;
  }

 private:
  template <typename T>
  void put(std::optional<model::Signal<T>>& signal, T value) {
    signal = model::Signal<T>{value, now, signal ? signal->samples + 1 : 1};
  }
  void count(std::size_t node) {
    ++seen[node].reports;
    seen[node].reported_at = now;
    seen[node].report_failed = false;
  }

  std::vector<double> bases_;
  std::vector<NodeInput> inputs_;

 public:
  base::TimePoint now = at(0);
  std::vector<model::Observation> seen;
  std::vector<char> in_service;
  std::vector<NodeOutcome> out;
};

// Options with this controller.
inline Options with(std::string controller) {
  Options options;
  options.controller.name = std::move(controller);
  return options;
}
// Nothing limits: steps, threshold and cap are out of the way.
inline Options free_of_limits(std::string controller) {
  Options options = with(std::move(controller));
  options.threshold = 0;
  options.step = {.up = 1000, .down = 1000};
  options.smooth.window = 1;
  return options;
}

}  // namespace steelyard::weigh
