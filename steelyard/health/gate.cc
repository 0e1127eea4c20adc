#include "steelyard/health/gate.h"

#include <algorithm>
#include <utility>

#include "steelyard/health/slow_start.h"
#include "steelyard/health/words.h"

namespace steelyard::health {
namespace {

// Reports that failed in a row are failed checks; where no checks are configured, this many of them
// are a fall.
constexpr std::uint32_t kReportFall = 3;
// Connects that time out in a row are a fall at this number.
constexpr std::uint64_t kSilentFall = 2;
// What a node that is out has to answer in panic, without a failure, to be back. guess: long beside
// a tick and the time that a node needs to answer its first requests.
constexpr base::Duration kPanicTrial = std::chrono::seconds(1);
// The cooldown is at its cap long before; the count only must not wrap.
constexpr std::uint32_t kMostEjections = 1'000'000;

base::Duration cooldown(const Options& options, std::uint32_t ejections) {
  const auto longest = std::max(options.cooldown_max, options.cooldown);
  // Compared by division: cooldown × ejections may not overflow.
  if (ejections > longest / options.cooldown) return longest;
  return options.cooldown * ejections;
}

std::string with_detail(std::string text, const std::string& detail) {
  return detail.empty() ? text : text + ", last: " + detail;
}

}  // namespace

Gate::Gate(const Options& options, Start start, base::TimePoint now)
    : start_(start), reason_("in service") {
  forgive_at_ = now + options.cooldown_max;
  if (options.active && options.active->initial == Initial::kOut) {
    phase_ = Phase::kOut;
    cause_ = Cause::kUnchecked;
    reason_ = "new: out until its first check passes";
  } else if (start == Start::kJoining) {
    begin_ramp(options, now, "new");
  }
}

void Gate::note(model::Change change, std::string reason) {
  transitions_.push_back({change, std::move(reason)});
}

std::vector<Transition> Gate::take() { return std::exchange(transitions_, {}); }

model::Eligibility Gate::eligibility() const noexcept {
  switch (phase_) {
    case Phase::kUsable:
      return model::Eligibility::kUsable;
    case Phase::kTrial:
      return model::Eligibility::kTrial;
    case Phase::kOut:
      return model::Eligibility::kOut;
  }
  return model::Eligibility::kUsable;
}

void Gate::eject(const Options& options, Cause cause, const std::string& why, base::TimePoint now) {
  if (ejections_ < kMostEjections) ++ejections_;
  const auto length = cooldown(options, ejections_);
  phase_ = Phase::kOut;
  cause_ = cause;
  out_until_ = now + length;
  waiting_told_ = false;
  suspect_ = false;
  passes_ = 0;
  run_ = silent_run_ = 0;
  clean_since_.reset();
  ++streak_epoch_;
  ramp_ = 1;  // the weight it had, should panic bring it back
  ramp_since_.reset();
  trial_since_.reset();
  limit_ = 0;
  reason_ = "out for " + in_words(length) + ": " + why;
  if (ejections_ > 1) reason_ += ", " + ordinal(ejections_) + " time";
  note(model::Change::kOut, reason_);
}

void Gate::check(const Options& options, const model::CheckSample& sample) {
  if (!options.active) return;
  switch (sample.outcome) {
    case model::CheckOutcome::kNotReady:
      return;  // wait: neither a pass nor a failure
    case model::CheckOutcome::kPass:
      fails_ = 0;
      ++passes_;
      return;
    case model::CheckOutcome::kFail:
    case model::CheckOutcome::kRefused:
    case model::CheckOutcome::kTimeout:
      fail_check(options, sample);
      return;
  }
}

void Gate::fail_check(const Options& options, const model::CheckSample& sample) {
  const std::uint32_t fall = options.active->fall;
  passes_ = 0;
  ++fails_;
  if (phase_ == Phase::kOut) return;
  if (sample.outcome == model::CheckOutcome::kRefused) {
    eject(options, Cause::kChecks, "a check was refused its connection", sample.at);
  } else if (fails_ >= fall) {
    eject(options, Cause::kChecks,
          with_detail(
              counted(fails_, "check") + " failed in a row (fall " + std::to_string(fall) + ")",
              sample.detail),
          sample.at);
  }
}

void Gate::report(const Options& options, const model::ReportSample& sample) {
  const bool answers = seen_successes_ > reported_successes_ || (options.active && passes_ > 0);
  reported_successes_ = seen_successes_;
  const bool refused = sample.outcome == model::ReportOutcome::kRefused;
  if (answers || (!refused && sample.outcome != model::ReportOutcome::kTimeout)) {
    report_fails_ = 0;
    return;
  }
  ++report_fails_;
  const std::uint32_t fall = options.active ? options.active->fall : kReportFall;
  if (phase_ != Phase::kUsable || (!refused && report_fails_ < fall)) return;
  eject(options, Cause::kTraffic,
        refused ? "connection refused when asked for its report, and no traffic answered"
                : with_detail(counted(report_fails_, "report") + " failed in a row (fall " +
                                  std::to_string(fall) + ") and no traffic answered",
                              sample.problem),
        sample.at);
  report_fails_ = 0;
}

void Gate::traffic(const Options& options, const model::TrafficSample& sample, bool may_eject,
                   bool panic) {
  const std::uint64_t failures = sample.failures + sample.connect_failures;
  // The counters are read one after the other: a refusal may be seen before its connect.
  const std::uint64_t silent = std::max(
      seen_silent_, sample.connect_failures - std::min(sample.refused, sample.connect_failures));
  const Since since{sample.successes - seen_successes_, failures - seen_failures_,
                    sample.refused - seen_refused_, silent - seen_silent_, sample.failure_streak};
  seen_silent_ = silent;
  panic_ = panic;
  if (!panic) clean_since_.reset();
  seen_successes_ = sample.successes;
  seen_failures_ = failures;
  seen_refused_ = sample.refused;
  in_flight_ = sample.in_flight;
  if (since.successes == 0 && since.failures == 0) return;
  if (phase_ == Phase::kOut) return judge_out(options, since, sample.at);
  if (phase_ == Phase::kTrial) judge_trial(options, since, sample.at);
  if (phase_ == Phase::kUsable) judge_usable(options, since, may_eject, sample.at);
}

// Only panic brings traffic to a node that is out.
void Gate::judge_out(const Options& options, const Since& since, base::TimePoint now) {
  if (!panic_ || cause_ != Cause::kTraffic) return;
  if (since.failures > 0) return clean_since_.reset();
  if (!clean_since_) {
    clean_since_ = now;
    panic_successes_ = 0;
  }
  panic_successes_ += since.successes;
  if (now - *clean_since_ < kPanicTrial || panic_successes_ < options.trial.successes) return;
  if (options.active && passes_ < options.active->rise) return;
  reason_ = "in service: answered " + in_words(now - *clean_since_) + " without a failure in panic";
  enter_service();
  note(model::Change::kUsable, reason_);
}

void Gate::judge_trial(const Options& options, const Since& since, base::TimePoint now) {
  if (since.failures > 0) {
    eject(options, Cause::kTraffic,
          since.refused > 0 ? "connection refused on trial" : "failed on trial", now);
    return;
  }
  trial_successes_ += since.successes;
  if (trial_successes_ >= options.trial.successes) {
    begin_ramp(options, now, "trial passed (" + counted(trial_successes_, "answer") + ")");
  }
}

void Gate::judge_usable(const Options& options, const Since& since, bool may_eject,
                        base::TimePoint now) {
  const std::uint64_t limit = options.passive.consecutive_failures;
  // Between two ticks the order of successes and failures is unknown: only an unbroken run over all
  // workers, or one worker's own streak, is "in a row" for certain.
  run_ = since.successes > 0 ? 0 : run_ + since.failures;
  silent_run_ = since.successes > 0 ? 0 : silent_run_ + since.silent;
  const std::uint64_t row = std::max(run_, since.streak);
  const bool silent = silent_run_ >= kSilentFall;
  const bool fell =
      limit > 0 && since.failures > 0 && (since.refused > 0 || silent || row >= limit);
  if (!fell) {
    if (suspect_ && since.successes > 0 && since.failures == 0) {
      suspect_ = false;
      reason_ = "in service: answers again";
      note(model::Change::kUsable, reason_);
    }
    return;
  }
  const std::string why =
      since.refused > 0 ? "connection refused"
      : silent && row < limit
          ? counted(silent_run_, "connect") + " in a row timed out"
          : counted(row, "failure") + " in a row (limit " + std::to_string(limit) + ")";
  if (may_eject) {
    eject(options, Cause::kTraffic, why, now);
  } else if (!suspect_) {
    suspect_ = true;
    reason_ = "kept in service, being the last usable node: " + why;
    note(model::Change::kSuppressed, reason_);
  }
}

void Gate::tick(const Options& options, base::TimePoint now) {
  if (phase_ == Phase::kOut) leave_out(options, now);
  move_ramp(options, now);
  forgive(options, now);
}

void Gate::leave_out(const Options& options, base::TimePoint now) {
  if (cause_ == Cause::kUnchecked) {
    if (options.active && passes_ == 0) return;
    const std::string why =
        options.active ? "first check passed" : "in service: its checks are configured no more";
    if (start_ == Start::kJoining) return begin_ramp(options, now, why);
    enter_service();
    reason_ = why;
    return note(model::Change::kUsable, reason_);
  }
  if (now < out_until_) return;
  if (options.active && passes_ < options.active->rise) {
    if (!std::exchange(waiting_told_, true)) {
      reason_ += "; that is over, waits for " + counted(options.active->rise, "check") +
                 " passed in a row";
    }
    return;
  }
  if (cause_ == Cause::kChecks && options.active) {
    return begin_ramp(options, now,
                      counted(passes_, "check") + " passed in a row (rise " +
                          std::to_string(options.active->rise) + ")");
  }
  if (panic_) return;  // judge_out
  // Requests from before it went out: their failures are no news, so they get one more cooldown to
  // end.
  if (in_flight_ > 0 && now < out_until_ + cooldown(options, ejections_)) return;
  begin_trial(options, now);
}

void Gate::begin_trial(const Options& options, base::TimePoint now) {
  enter_service();
  phase_ = Phase::kTrial;
  trial_since_ = now;
  trial_successes_ = 0;
  ramp_ = slow_start_factor(base::Duration::zero(), options.slow_start);
  limit_ = in_flight_ + 1;
  reason_ = "on trial: one request at a time until " + counted(options.trial.successes, "answer") +
            " in a row";
  note(model::Change::kTrial, reason_);
}

void Gate::begin_ramp(const Options& options, base::TimePoint now, const std::string& why) {
  enter_service();
  if (options.slow_start <= base::Duration::zero()) {
    reason_ = "in service: " + why;
    return note(model::Change::kUsable, reason_);
  }
  ramp_since_ = now;
  announced_ = 0;
  ramp_ = slow_start_factor(base::Duration::zero(), options.slow_start);
  reason_ = "ramps from 10 % over " + in_words(options.slow_start) + ": " + why;
  note(model::Change::kRamp, reason_);
}

// Everything a node loses when it is let in again, be it on trial, on a ramp or in full.
void Gate::enter_service() {
  phase_ = Phase::kUsable;
  cause_ = Cause::kNone;
  suspect_ = false;
  limit_ = 0;
  fails_ = 0;
  report_fails_ = 0;
  run_ = silent_run_ = 0;
  clean_since_.reset();
  ++streak_epoch_;
  ramp_ = 1;
  ramp_since_.reset();
  trial_since_.reset();
}

void Gate::restart_ramp(const Options& options, base::TimePoint now, std::string_view why) {
  if (phase_ == Phase::kUsable) begin_ramp(options, now, std::string(why));
}

void Gate::move_ramp(const Options& options, base::TimePoint now) {
  const auto since = trial_since_ ? trial_since_ : ramp_since_;
  if (!since || phase_ == Phase::kOut) return;
  const base::Duration age = now - *since;
  const base::Duration window = options.slow_start;
  if (age < window) {
    const base::Duration step = std::max<base::Duration>(window / kRampSteps, base::Duration(1));
    ramp_ = slow_start_factor(age / step * step, window);
    if (phase_ == Phase::kTrial) return;
    const auto quarter = static_cast<std::uint8_t>(age * 4 / window);
    if (quarter > announced_) {
      announced_ = quarter;
      note(model::Change::kRamp,
           "ramp at " + std::to_string(25 * quarter) + " % after " + in_words(age));
    }
    return;
  }
  ramp_ = 1;
  if (phase_ == Phase::kTrial) return;
  ramp_since_.reset();
  forgive_at_ = now + options.cooldown_max;
  reason_ = "in service: ramp done after " + in_words(age);
  note(model::Change::kUsable, reason_);
}

void Gate::forgive(const Options& options, base::TimePoint now) {
  if (phase_ != Phase::kUsable || ramp_since_ || suspect_) {
    forgive_at_ = now + options.cooldown_max;
    return;
  }
  while (now >= forgive_at_) {
    if (ejections_ > 0) --ejections_;
    if (ejections_ == 0) {
      forgive_at_ = now + options.cooldown_max;
      return;
    }
    forgive_at_ += options.cooldown_max;
  }
}

Memory Gate::memory(base::TimePoint now) const {
  Memory memory;
  memory.ejections = ejections_;
  if (phase_ == Phase::kOut && cause_ != Cause::kUnchecked) {
    memory.out_for = std::max(out_until_ - now, base::Duration::zero());
  } else if (phase_ != Phase::kUsable) {
    memory.out_for = base::Duration::zero();
  }
  if (ramp_since_) memory.ramp_age = now - *ramp_since_;
  return memory;
}

void Gate::restore(const Options& options, const Memory& memory, base::TimePoint now) {
  enter_service();
  transitions_.clear();
  reason_ = "in service";
  ejections_ = std::min(memory.ejections, kMostEjections);
  if (memory.out_for) {
    const auto left = std::min(*memory.out_for, std::max(options.cooldown_max, options.cooldown));
    phase_ = Phase::kOut;
    cause_ = Cause::kTraffic;  // what took it out is not kept: the more careful way back
    waiting_told_ = false;
    out_until_ = now + left;
    reason_ = "out for " + in_words(left) + " more, from before the restart";
    note(model::Change::kOut, reason_);
  } else if (memory.ramp_age) {
    ramp_since_ = now - *memory.ramp_age;
    announced_ = 3;
    reason_ = "ramps on, from before the restart";
    note(model::Change::kRamp, reason_);
  }
  move_ramp(options, now);
}

}  // namespace steelyard::health
