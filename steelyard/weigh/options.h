// `weigh:` of an upstream: the controller and how far its weights may move.
//
// Threshold and cooldown depend on who applies the weights: a target that reloads (Nginx) wants
// few, large changes, our own proxy wants small, quick ones. Unset, they follow the target
// (`Limits::of`).
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "steelyard/base/time.h"
#include "steelyard/schema/field.h"
#include "steelyard/weigh/registry.h"

namespace steelyard::weigh {

// How the signals are smoothed before a controller sees them. Read by whoever builds the observers.
struct SmoothOptions {
  std::uint32_t window = 5;  // scores: mean of the last ones
  double alpha = 0.3;        // utilisation: weight of the newest sample

  static constexpr auto fields() {
    return std::tuple{
        schema::field("window", &SmoothOptions::window, "Scores averaged: the last this many.",
                      schema::between(1U, 60U)),
        schema::field("alpha", &SmoothOptions::alpha,
                      "Weight of the newest utilisation in its moving average.",
                      schema::between(0.01, 1.0))};
  }
};

struct StepOptions {
  double up = 1.5;
  double down = 2;

  static constexpr auto fields() {
    return std::tuple{
        schema::field("up", &StepOptions::up, "A weight grows at most by this factor a sample.",
                      schema::between(1.01, 1000.0)),
        schema::field("down", &StepOptions::down,
                      "A weight falls at most by this divisor a sample.",
                      schema::between(1.01, 1000.0))};
  }
};

// When our own measurements contradict a node's report: it may not gain.
struct TrustOptions {
  double error_margin = 0.05;
  double latency_factor = 2;
  base::Duration latency_slack = std::chrono::milliseconds(10);

  static constexpr auto fields() {
    using std::chrono::milliseconds;
    return std::tuple{
        schema::field(
            "error_margin", &TrustOptions::error_margin,
            "A node whose error rate is above the upstream's median by more than this cannot gain.",
            schema::ratio(0, 1)),
        schema::field("latency_factor", &TrustOptions::latency_factor,
                      "A node whose median latency is above the upstream's by more than this "
                      "factor cannot gain.",
                      schema::between(1.0, 1000.0)),
        schema::field("latency_slack", &TrustOptions::latency_slack,
                      "Differences of latency smaller than this say nothing.",
                      schema::between(milliseconds(0), milliseconds(60000)))};
  }
};

struct Options {
  schema::Choice controller{"adaptive", nullptr};
  SmoothOptions smooth;
  std::optional<double> threshold;
  std::optional<base::Duration> cooldown;
  StepOptions step;
  std::optional<double> floor;
  double cap = 0.4;
  TrustOptions trust;

  static constexpr auto fields() {
    using std::chrono::hours;
    using std::chrono::milliseconds;
    return std::tuple{
        schema::field("controller", &Options::controller,
                      "Turns what is known of the nodes into weights; `adaptive` chooses by what "
                      "they report.",
                      schema::choice_of(&choices)),
        schema::field("smooth", &Options::smooth, "How signals are averaged first."),
        schema::field(
            "threshold", &Options::threshold,
            "Smaller changes are not made; 20% unless set where applying means a reload, else 2%.",
            schema::ratio(0, 1)),
        schema::field("cooldown", &Options::cooldown,
                      "Time between two changes of a node; 30s unless set where applying means a "
                      "reload, else none.",
                      schema::between(milliseconds(0), hours(1))),
        schema::field("step", &Options::step, "How far a weight may move at once."),
        schema::field("floor", &Options::floor,
                      "Least weight of a node in service, in the units of the configured weights "
                      "(never above a "
                      "node's own); a tenth of its weight unless set.",
                      schema::between(0.001, 1e6)),
        schema::field("cap", &Options::cap,
                      "Most of the traffic one of three or more nodes may get; never more than "
                      "twice its configured "
                      "share, never less than that share.",
                      schema::ratio(0.01, 1)),
        schema::field("trust", &Options::trust, "When a node's own report is not believed.")};
  }
};

// Options with every default filled in: what the stabilisers work with.
struct Limits {
  double threshold = 0.02;
  base::Duration cooldown{0};
  double up = 1.5;
  double down = 2;
  std::optional<double> floor;  // base units; empty: kFloor × base
  double cap = 0.4;
  TrustOptions trust;
  std::uint32_t window = 5;
  double alpha = 0.3;

  static constexpr double kFloor = 0.1;  // the score map's lowest entry, 1 of 10

  // `reloads`: applying a weight means a reload (apply.nginx is configured).
  [[nodiscard]] static Limits of(const Options& options, bool reloads);
  // The least weight of a node with this base weight: never above the base weight, so that a floor
  // never lifts a node.
  [[nodiscard]] double floor_of(double base) const noexcept;
};

// What is allowed but will hardly be meant, one sentence each: a floor that leaves nothing to move,
// rounding that leaves nothing of a law. `bases`: the configured weights of the upstream's nodes.
[[nodiscard]] std::vector<std::string> warnings(const Options& options,
                                                std::span<const double> bases);

}  // namespace steelyard::weigh
