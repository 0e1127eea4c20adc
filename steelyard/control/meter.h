// Meter: reads what all workers counted for one node, since the node's present incarnation began.
//
// Cells are never reset, so a slot still carries its former owner's counts: the Meter keeps what
// stood there when its node moved in and gives differences. Streaks of failures are cut off at
// `restart_streaks`, worker by worker: a worker that has sent nothing since still shows its old
// streak, and that must not count twice. Cost: O(workers) a reading; the histogram (O(workers ×
// buckets)) is read again only when answers came in. Owner: control.
#pragma once

#include <cstdint>
#include <vector>

#include "steelyard/base/time.h"
#include "steelyard/control/view.h"
#include "steelyard/model/sample.h"
#include "steelyard/model/slots.h"

namespace steelyard::control {

class Meter {
 public:
  Meter(const model::Slots& slots, model::NodeRef ref);

  // The counters as of now; the reference holds until the next reading.
  const model::TrafficSample& read(const model::Slots& slots, base::TimePoint now);
  void restart_streaks(const model::Slots& slots);
  // Everything at once, exact, for views and when the node leaves.
  [[nodiscard]] Counts counts(const model::Slots& slots) const;
  [[nodiscard]] std::uint64_t pooled(const model::Slots& slots) const;
  [[nodiscard]] const model::TrafficSample& last() const noexcept { return last_; }

 private:
  model::NodeRef ref_;
  Counts baseline_;
  std::vector<std::uint64_t>
      streak_base_;             // failures of each worker when its streak began to count
  std::uint64_t answered_ = 0;  // successes when the histogram was read
  base::TimePoint heads_at_{};  // … and when
  model::TrafficSample last_;
};

// Exact sums over all workers, without any baseline.
[[nodiscard]] Counts total_counts(const model::Slots& slots, model::NodeRef ref);

}  // namespace steelyard::control
