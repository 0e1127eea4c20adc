// ServiceModel: what a demo node's work takes, as arithmetic: `cores` requests at once, first come
// first served, exponential service times, and the faults that can be set. No I/O and no clock: the
// node server feeds it events and `now`.
//
// A pause (like a stop-the-world collection) stops everything: what is being served finishes later
// by its length, what waits goes on waiting. Utilisation is the busy share of all cores over the
// last window; a pause counts as busy, since a collector uses the cores. Score: 100 less 80 × the
// paused share of the last 5 s, less up to 20 for a queue longer than the cores; a set score wins.
// Cost: O(log n) an event.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <queue>
#include <vector>

#include "steelyard/base/rng.h"
#include "steelyard/base/time.h"

namespace steelyard::cli {

struct ServiceFaults {
  base::Duration pause{};        // longest pause; each is between half of it and all of it
  base::Duration pause_every{};  // from the begin of one to the begin of the next; 0 = none
  double slow = 1;               // service times are multiplied by this
  double error_rate = 0;         // share of requests answered with 500 at once
  bool hang = false;             // requests are accepted and, while it lasts, not begun
  std::optional<double> score;   // reported instead of the computed one
};

class ServiceModel {
 public:
  using RequestId = std::uint64_t;
  struct Done {
    RequestId id = 0;
    bool ok = true;
  };

  ServiceModel(unsigned cores, base::Duration service, std::uint64_t seed);

  void set_cores(unsigned cores, base::TimePoint now);
  void set_service(base::Duration service) { service_ = service; }
  void set_faults(const ServiceFaults& faults, base::TimePoint now);
  [[nodiscard]] const ServiceFaults& faults() const noexcept { return faults_; }
  [[nodiscard]] unsigned cores() const noexcept { return cores_; }
  [[nodiscard]] base::Duration service() const noexcept { return service_; }

  // Call `advance` up to `now` first, so that what has finished frees its core.
  void arrive(RequestId id, base::TimePoint now);
  void cancel(RequestId id);
  // Everything that is done by `now`, in order.
  void advance(base::TimePoint now, std::vector<Done>& done);
  // When to call advance next; nothing when idle.
  [[nodiscard]] std::optional<base::TimePoint> next() const;

  struct Health {
    double score = 100;
    double utilisation = 0;
    std::uint64_t pauses = 0;        // since start
    unsigned active = 0;             // being served or waiting
    base::Duration mean_response{};  // of the last requests, 0 before the first
  };
  [[nodiscard]] Health health(base::TimePoint now);

 private:
  struct Running {
    base::TimePoint until;
    base::TimePoint arrived;
    RequestId id;
    bool ok;
    friend bool operator>(const Running& a, const Running& b) { return a.until > b.until; }
  };
  struct Waiting {
    RequestId id;
    base::TimePoint arrived;
  };
  struct Span {
    base::TimePoint from, to;
    double busy;  // cores in use, a pause counts all
    bool paused;
  };
  void account(base::TimePoint now);
  void start_waiting(base::TimePoint now);
  void plan_pause(base::TimePoint begin);
  void begin_pause(base::TimePoint now);

  unsigned cores_;
  base::Duration service_;
  base::Rng rng_;
  ServiceFaults faults_;
  std::priority_queue<Running, std::vector<Running>, std::greater<>> running_;
  std::deque<Waiting> waiting_;
  std::optional<base::TimePoint> pause_at_;     // begin of the next one
  std::optional<base::TimePoint> pause_until_;  // end of the one under way
  std::uint64_t pauses_ = 0;
  base::TimePoint accounted_{};
  std::deque<Span> spans_;
  double mean_response_ = 0;
};

}  // namespace steelyard::cli
