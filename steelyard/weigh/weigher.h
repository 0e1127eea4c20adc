// Weigher: from observations to applied control factors, for the nodes of one upstream.
//
// Order: controller → trust (a rise that our own measurements contradict) → threshold (wanted
// against applied) → step (damped by the age of the signal, at most ×up and ÷down) → cooldown →
// floor and cap over the whole upstream. Each stage leaves a StageValue in base units and says why
// where it bit.
//
// New samples move weights, once each; a tick alone moves nothing. A silent node takes a step each
// time another usual interval has passed in silence, until it has the mean of the known nodes.
//
// A wanted drop to half or less skips threshold, cooldown and damping, not the step limit.
//
// control = applied weight / base weight; never 0, never NaN. A node first seen starts at the mean
// of its siblings. Out of service a node keeps its control and is no part of any mean, median,
// floor or cap. Nothing known of any node: the last good weights are frozen (`frozen()`).
//
// Overrides, ramps, drain and ejection are combined elsewhere; they know no stabiliser.
//
// Cost: O(nodes) a call; only counters are compared when no sample is new. Owned by control.
// Borrows nothing beyond a call.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "steelyard/base/time.h"
#include "steelyard/model/decision.h"
#include "steelyard/model/node_ref.h"
#include "steelyard/model/observation.h"
#include "steelyard/weigh/bound.h"
#include "steelyard/weigh/controller.h"
#include "steelyard/weigh/options.h"
#include "steelyard/weigh/trust.h"
#include "steelyard/weigh/wanted.h"

namespace steelyard::weigh {

struct NodeInput {
  model::NodeRef ref;
  std::string_view name;
  double base = 1;                           // configured weight; ≤ 0 counts as out of service
  const model::Observation* seen = nullptr;  // null: nothing known
  bool in_service = true;  // usable, ramping included; not out, on trial or draining
};

struct NodeOutcome {
  double control = 1;                     // applied factor around 1, > 0
  double wanted = 1;                      // base units, what the controller asked for
  std::vector<model::StageValue> stages;  // when `stepped`, or when a floor or cap bit
  bool stepped = false;                   // a new sample was worked through
  bool changed = false;                   // control is another than before
  bool suppressed = false;  // a wanted change was held back whole (threshold, cooldown, trust)
  std::string reason;       // in words with its numbers; empty when nothing happened
};

class Weigher {
 public:
  // `reloads`: applying a weight means a reload (apply.nginx is configured).
  explicit Weigher(const Options& options, bool reloads = false);

  // `out` gets one entry a node, in order.
  void step(std::span<const NodeInput> nodes, base::TimePoint now, std::vector<NodeOutcome>& out);
  // The node has left, or is another incarnation.
  void forget(model::NodeRef node);
  // Learned before a reload or restart: goes on from there.
  void restore(model::NodeRef node, double control);

  // The law in force ("adaptive" is never one), and why that one.
  [[nodiscard]] std::string_view controller() const noexcept { return running_; }
  [[nodiscard]] std::string_view controller_why() const noexcept { return why_; }
  [[nodiscard]] bool frozen() const noexcept { return frozen_; }
  [[nodiscard]] const Limits& limits() const noexcept { return limits_; }

 private:
  struct State {
    double control = 1;
    bool placed = false;           // control was set by restore or by the first step
    bool in_service = false;       // at the last step
    std::uint64_t seen = 0;        // fingerprint of the samples worked through
    base::TimePoint beat_at{};     // last sample or silence worked through
    base::TimePoint sampled_at{};  // newest report
    double interval = 0;           // seconds between samples, averaged; 0: not known
    double age = 0;                // seconds, of a sample when it is worked through, averaged
    std::optional<base::TimePoint> changed_at;  // for the cooldown
  };
  // One node in service during a step.
  struct Work {
    std::size_t at = 0;  // in the caller's span
    State* state = nullptr;
    double before = 1;
    bool fresh = false;   // a new sample
    bool silent = false;  // no sample, though another interval has passed
  };

  void choose_law(std::span<const NodeInput> nodes);
  void gather(std::span<const NodeInput> nodes, base::TimePoint now);
  void place_new();
  bool find_beats(base::TimePoint now);
  void ask(base::TimePoint now);
  void move(std::size_t at, const Trust& trust, base::TimePoint now, NodeOutcome& out);
  void bound_all(std::vector<NodeOutcome>& out);
  void finish(base::TimePoint now, std::vector<NodeOutcome>& out);
  [[nodiscard]] double lag_of(const State& state, const Law& law, double* alpha) const noexcept;

  Options options_;
  Limits limits_;
  std::string running_;
  std::string why_;
  std::unique_ptr<Controller> law_;
  bool ever_known_ = false;
  bool frozen_ = false;
  bool froze_ = false;  // in this step
  std::unordered_map<std::uint64_t, State> states_;
  // Of the nodes in service, one entry each; kept for their memory.
  std::vector<Work> work_;
  std::vector<View> views_;
  std::vector<Wish> wishes_;
  std::vector<double> floors_;
  std::vector<Want> wants_;
  std::vector<Bounded> bounds_;
};

}  // namespace steelyard::weigh
