// Samples: single measurements, as they enter the brain. Each names its node and when it was taken.
//
// "Unknown is never zero": a field that was not reported is an empty optional. Values outside their
// range never get here; the reader (probe) refuses them and says why.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "steelyard/base/histogram.h"
#include "steelyard/base/result.h"
#include "steelyard/base/time.h"
#include "steelyard/model/node_ref.h"

namespace steelyard::model {

// What a node says of itself: the score endpoint (F1), later ORCA, the agent, Prometheus. All from
// one moment.
struct LoadReport {
  std::optional<double> score;        // 0 … 100
  std::optional<double> utilisation;  // 0 … 1 (cpuUsagePct / 100)
  std::optional<double> memory;       // 0 … 1 of the heap or memory limit
  std::optional<std::uint64_t>
      gc_count;  // collections since the node's start: differences are taken
  std::optional<double> active_threads;
  std::optional<base::Duration> average_response;
  friend bool operator==(const LoadReport&, const LoadReport&) = default;
};

// How asking for a report went. Refused and timed out are failed checks; kNotFound (404) and kBad
// mean "unknown".
enum class ReportOutcome : std::uint8_t { kOk, kRefused, kTimeout, kNotFound, kBad };

struct ReportSample {
  NodeRef node;
  base::TimePoint at;
  ReportOutcome outcome = ReportOutcome::kBad;
  LoadReport report;    // of kOk
  std::string problem;  // of all others, for people: "HTTP 500", "score is 130, must be 0 to 100"
};

// One active check. `not_ready` (503, C7) means wait: neither pass nor fail.
enum class CheckOutcome : std::uint8_t { kPass, kFail, kRefused, kTimeout, kNotReady };

struct CheckSample {
  NodeRef node;
  base::TimePoint at;
  CheckOutcome outcome = CheckOutcome::kFail;
  base::Duration took{};
  std::string detail;  // for people: "HTTP 500", "connection refused"
};

// The growing counters of one node over all workers, read at one moment (see WorkerCells).
// Differences are the traffic.
struct TrafficSample {
  base::TimePoint at;
  std::uint64_t attempts = 0;
  std::uint64_t successes = 0;
  std::uint64_t failures = 0;
  std::uint64_t connect_failures = 0;
  std::uint64_t refused = 0;
  std::uint64_t timeouts = 0;
  std::uint32_t failure_streak = 0;  // the longest of the workers' streaks
  std::uint32_t in_flight = 0;
  base::Histogram head_latency;
};

}  // namespace steelyard::model
