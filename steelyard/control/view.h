// Views: what API, metrics, dashboard and demo show of the brain, as plain values. Made on request,
// by Brain::views.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "steelyard/base/address.h"
#include "steelyard/base/histogram.h"
#include "steelyard/model/eligibility.h"
#include "steelyard/model/node_ref.h"
#include "steelyard/model/observation.h"
#include "steelyard/model/override.h"

namespace steelyard::control {

// Counts over all workers. They only grow while a node keeps name and address; then they move to
// the upstream's `gone`.
struct Counts {
  std::uint64_t attempts = 0;
  std::uint64_t retries = 0;  // of which after the first of an exchange, hedges too
  std::uint64_t successes = 0;
  std::uint64_t failures = 0;          // after connecting
  std::uint64_t connect_failures = 0;  // not in `failures`
  std::uint64_t refused = 0;           // of which refused
  std::uint64_t timeouts = 0;          // of either kind
  base::Histogram head_latency;        // request sent → answer head, successes only

  void add(const Counts& other) noexcept;
  // This minus an earlier reading.
  [[nodiscard]] Counts since(const Counts& earlier) const noexcept;
};

struct NodeView {
  std::string name;
  base::Address address;
  model::NodeRef ref;
  double base = 1;       // as configured
  double control = 1;    // the controllers' factor around 1
  double wanted = 1;     // what the controller asked for last, before the stabilisers, base units
  double ramp = 1;       // 0.1 … 1
  double effective = 1;  // what the Table says: (override, else base × control) × ramp
  double share_wanted = 0;  // of the Table, 0 … 1
  std::optional<double>
      share_seen;   // of the attempts begun in the last seconds; empty without traffic
  double rate = 0;  // attempts a second in the same time
  model::Eligibility eligibility = model::Eligibility::kUsable;
  bool suspect = false;  // would be out by its traffic, were it not the last one
  std::uint32_t ejections = 0;
  std::string reason;  // of its state: "out for 60 s: 5 failures in a row (limit 5), second time"
  std::string last_decision;  // in words; empty before the first
  base::TimePoint last_decision_at{};
  std::optional<model::Override> override_;
  model::Observation seen;
  Counts counts;
  std::uint32_t in_flight = 0;
  double limit = 0;  // of those in flight, as configured or by its latency; 0: none
  std::optional<base::Duration> base_latency;  // that a gradient limit goes by
  std::uint64_t pooled = 0;                    // idle connections kept, all workers
  // What pool.connections should be for this node: 1.5 × rate × median latency, for each worker;
  // empty without traffic.
  std::optional<std::uint64_t> pool_advice;
};

struct UpstreamView {
  std::string name;
  std::string picker;
  std::string controller;      // the law in force …
  std::string controller_why;  // … and why that one
  bool panic = false;
  std::vector<NodeView> nodes;  // in order of configuration
  Counts gone;                  // of nodes that left
};

}  // namespace steelyard::control
