// Gate: whether one node is in service, and how fully. Takes check results and traffic, gives a
// phase with reasons in words.
//
//   usable ──(fall failed checks · failures in a row · refused)──► out ──(cooldown over)──► trial
//   ──(n answers)──► ramp ► usable
//                                                                   └──(out by its checks: rise
//                                                                   passes)────────► ramp
//   - A refused connection, in a check or in traffic, counts as the whole fall; two connects in a
//   row that time out do too: pickers by load send one request at a time there, and each costs a
//   client the whole time-out. `not_ready` counts neither way.
//   - Out for at least cooldown × times ejected, at most cooldown_max; each cooldown_max in full
//   service takes one ejection
//     back. Where checks are configured, they must pass `rise` times too before a node comes back,
//     whatever took it out.
//   - Trial: one request at a time (`in_flight_limit`); one failure puts it out again. It waits, at
//   most one more cooldown, until
//     the requests from before are gone, so that their late failures are not the trial's. The
//     weight of a trial grows like a ramp: pickers by load would never reach a node whose weight
//     stays at a tenth.
//   - Ramp: see slow_start.h. One success never restores full traffic.
//   - In panic a node that is out carries its share, which is trial enough: a second of answers
//   without a failure, and as many as a trial wants, puts it back in full; there is no trial of
//   its own.
//   - The last usable node is not put out by its traffic (`may_eject` false): it stays, marked
//   `suspect`, and control decides
//     on panic. Checks always count.
// A new node is usable until proven otherwise, or (active.initial: out) out until its first check
// passes.
//
// Time is an argument; options are passed to each call and never kept. Cost: O(1), no allocation
// but for reasons. One owner.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "steelyard/base/time.h"
#include "steelyard/health/options.h"
#include "steelyard/model/decision.h"
#include "steelyard/model/eligibility.h"
#include "steelyard/model/sample.h"

namespace steelyard::health {

enum class Start : std::uint8_t {
  kWithAll,  // all nodes of the upstream are new: nobody ramps
  kJoining,  // new among nodes in service: ramps
};

// A change of phase, or one that was held back (Change::kSuppressed).
struct Transition {
  model::Change change = model::Change::kNone;
  std::string reason;  // without the node's name: "out for 60 s: 5 failures in a row (limit 5),
                       // second time"
};

// What survives a restart.
struct Memory {
  std::uint32_t ejections = 0;
  std::optional<base::Duration> out_for;   // still to stay out; 0: waiting for checks or on trial
  std::optional<base::Duration> ramp_age;  // time since its ramp began
};

class Gate {
 public:
  Gate(const Options& options, Start start, base::TimePoint now);

  void check(const Options& options, const model::CheckSample& sample);
  // Asking for the node's report failed or worked. A failed report is a failed check, unless its
  // traffic is answered.
  void report(const Options& options, const model::ReportSample& sample);
  // The node's counters, growing since this incarnation began; `failure_streak` counts failures
  // since `streak_epoch` changed. `panic`: the upstream's, so that nodes that are out are picked.
  void traffic(const Options& options, const model::TrafficSample& sample, bool may_eject,
               bool panic);
  // What passes by time alone. Call once a tick, after the samples.
  void tick(const Options& options, base::TimePoint now);

  void restart_ramp(const Options& options, base::TimePoint now, std::string_view why);
  [[nodiscard]] Memory memory(base::TimePoint now) const;
  void restore(const Options& options, const Memory& memory, base::TimePoint now);

  // Usable, trial or out; draining is not the gate's to say.
  [[nodiscard]] model::Eligibility eligibility() const noexcept;
  // In service and nothing against it: what counts against panic. Not on trial, not suspect.
  [[nodiscard]] bool healthy() const noexcept { return phase_ == Phase::kUsable && !suspect_; }
  [[nodiscard]] bool suspect() const noexcept { return suspect_; }
  // Factor of the weight, 0.1 … 1, as of the last tick.
  [[nodiscard]] double ramp() const noexcept { return ramp_; }
  [[nodiscard]] bool ramping() const noexcept { return ramp_since_.has_value(); }
  // 0 = none. While on trial 1 (plus what hangs on from before).
  [[nodiscard]] std::uint32_t in_flight_limit() const noexcept { return limit_; }
  // Why it is as it is, in words; never empty.
  [[nodiscard]] const std::string& reason() const noexcept { return reason_; }
  // Grows whenever failures from before must not count any more: the reader of the streaks starts
  // them anew.
  [[nodiscard]] std::uint32_t streak_epoch() const noexcept { return streak_epoch_; }
  // The transitions since the last call.
  [[nodiscard]] std::vector<Transition> take();

 private:
  enum class Phase : std::uint8_t { kUsable, kOut, kTrial };
  enum class Cause : std::uint8_t { kNone, kChecks, kTraffic, kUnchecked };
  // What happened since the last sample.
  struct Since {
    std::uint64_t successes = 0;
    std::uint64_t failures = 0;
    std::uint64_t refused = 0;
    std::uint64_t silent = 0;  // connects that timed out
    std::uint64_t streak = 0;
  };

  void eject(const Options& options, Cause cause, const std::string& why, base::TimePoint now);
  void fail_check(const Options& options, const model::CheckSample& sample);
  void judge_out(const Options& options, const Since& since, base::TimePoint now);
  void judge_trial(const Options& options, const Since& since, base::TimePoint now);
  void judge_usable(const Options& options, const Since& since, bool may_eject,
                    base::TimePoint now);
  void leave_out(const Options& options, base::TimePoint now);
  void begin_trial(const Options& options, base::TimePoint now);
  void begin_ramp(const Options& options, base::TimePoint now, const std::string& why);
  void enter_service();
  void move_ramp(const Options& options, base::TimePoint now);
  void forgive(const Options& options, base::TimePoint now);
  void note(model::Change change, std::string reason);

  Phase phase_ = Phase::kUsable;
  Cause cause_ = Cause::kNone;
  Start start_;
  bool suspect_ = false;
  bool waiting_told_ = false;   // the reason says that only checks are awaited
  std::uint8_t announced_ = 0;  // quarters of the ramp that were told
  std::uint32_t ejections_ = 0;
  std::uint32_t passes_ = 0;  // checks in a row
  std::uint32_t fails_ = 0;
  std::uint32_t report_fails_ = 0;
  std::uint32_t limit_ = 0;
  std::uint32_t in_flight_ = 0;  // as of the last traffic sample
  std::uint32_t streak_epoch_ = 0;
  bool panic_ = false;            // as of the last traffic sample
  std::uint64_t run_ = 0;         // failures in a row over all workers, in traffic
  std::uint64_t silent_run_ = 0;  // of which connects that timed out
  std::uint64_t panic_successes_ = 0;
  std::optional<base::TimePoint> clean_since_;  // out, in panic, and without a failure since
  std::uint64_t trial_successes_ = 0;
  double ramp_ = 1;
  base::TimePoint out_until_{};
  base::TimePoint forgive_at_{};  // when one ejection is taken back; moves on outside full service
  std::optional<base::TimePoint> trial_since_;
  std::optional<base::TimePoint> ramp_since_;
  std::uint64_t seen_successes_ = 0;  // counters of the last sample …
  std::uint64_t seen_failures_ = 0;
  std::uint64_t seen_refused_ = 0;
  std::uint64_t seen_silent_ = 0;
  std::uint64_t reported_successes_ = 0;  // … and of the last report
  std::string reason_;
  std::vector<Transition> transitions_;
};

}  // namespace steelyard::health
