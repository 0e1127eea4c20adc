// Machine: one change of all targets that have one, forwards, up to its commit.
#include <algorithm>
#include <utility>

#include "steelyard/apply/nginx/machine.h"

namespace steelyard::apply::nginx {

void Machine::go(Phase phase) {
  phase_ = phase;
  index_ = 0;
}

void Machine::begin(Names names) {
  for (const auto& name : names) {
    Target& t = at(name);
    t.batch = aim(t);
    t.batch_number = t.want_number;
    t.was_settled = t.settled;
  }
  group_ = std::move(names);
  queue_.clear();
  passed_.clear();
  undoing_.clear();
  crashed_ = false;
  go(Phase::kBefore);
}

const Machine::Names& Machine::names() const {
  switch (phase_) {
    case Phase::kOpen:
      return opening_;
    case Phase::kLook:
    case Phase::kWatchLook:
      return looking_;
    case Phase::kCommit:
    case Phase::kForget:
      return passed_;
    case Phase::kUndo:
    case Phase::kUnmark:
    case Phase::kUnmarkForget:
      return undoing_;
    default:
      return group_;
  }
}

// What to do about the file of the phase's target at index_; false: nothing.
bool Machine::write_action(Action& out) {
  const std::string& name = names()[index_];
  const Target& t = at(name);
  out = {.what = Do::kNothing, .target = name};
  switch (phase_) {
    case Phase::kOpen:
      out.what = open_step_;
      break;
    case Phase::kLook:
    case Phase::kWatchLook:
      out.what = Do::kLook;
      break;
    case Phase::kMark:
      if (!t.marked) out = {.what = Do::kMark, .target = name, .text = t.good.value_or("")};
      break;
    case Phase::kStage:
      if (t.batch && t.batch != t.disk) {
        out = {.what = Do::kStage, .target = name, .text = t.batch};
      }
      break;
    case Phase::kInstall:
      if (t.batch != t.disk) {
        out = {.what = Do::kInstall, .target = name, .text = t.batch, .expect = t.disk};
      }
      break;
    case Phase::kCommit:
      out = {.what = Do::kCommit, .target = name, .text = t.batch};
      break;
    case Phase::kUndo:
      if (t.disk != t.good) out = {.what = Do::kUndo, .target = name, .text = t.good};
      break;
    case Phase::kUnmark:
      if (t.settled) out = {.what = Do::kCommit, .target = name, .text = t.good};
      break;
    case Phase::kUnmarkForget:
      if (t.settled) out.what = Do::kForget;
      break;
    case Phase::kForget:
      out.what = Do::kForget;
      break;
    default:
      break;
  }
  return out.what != Do::kNothing;
}

Action Machine::step(TimePoint now) {
  for (;;) {
    switch (phase_) {
      case Phase::kIdle:
        return idle(now);
      case Phase::kLookWorkers:
      case Phase::kBefore:
      case Phase::kBeforeReload:
        return {.what = Do::kSample};
      case Phase::kRelease:
        return {.what = Do::kRelease, .target = group_[0]};
      case Phase::kTest:
      case Phase::kBaseTest:
        return {.what = Do::kTest};
      case Phase::kReload:
      case Phase::kUndoReload:
        go(phase_ == Phase::kReload ? Phase::kReloading : Phase::kUndoReloading);
        ++reloads_;
        reload_runs_ = true;
        change_at_ = now;
        deadline_ = now + options_.verify_timeout;
        return {.what = Do::kReload};
      case Phase::kReloading:
      case Phase::kUndoReloading:
        wake_ = deadline_;
        if (now < deadline_) return {};
        // A reload that hangs is left alone, because killing it half-way would make things worse;
        // the workers say whether it worked.
        note({}, "reload_hangs", "the reload command did not end in time; it is left to itself");
        go(phase_ == Phase::kReloading ? Phase::kVerify : Phase::kUndoVerify);
        deadline_ = now;
        sample_at_ = now;
        break;
      case Phase::kWatch:
        if (now >= poll_at_) {
          poll(now, Phase::kWatchLook);
          break;
        }
        return timed_sample(now);
      case Phase::kVerify:
      case Phase::kUndoVerify:
        return timed_sample(now);
      default: {
        Action out;
        if (index_ < names().size()) {
          if (write_action(out)) return out;
          ++index_;
          break;
        }
        end_of_phase(now);
      }
    }
  }
}

// Every target of the phase had its turn.
void Machine::end_of_phase(TimePoint now) {
  switch (phase_) {
    case Phase::kLook:
      return go(Phase::kLookWorkers);
    case Phase::kWatchLook:
      return go(Phase::kWatch);
    case Phase::kMark:
      return go(Phase::kStage);
    case Phase::kStage:
      return go(Phase::kInstall);
    case Phase::kInstall:
      if (group_.empty()) return next_group(now);
      return go(Phase::kTest);
    case Phase::kCommit:
      return go(Phase::kForget);
    case Phase::kForget:
      return committed();
    case Phase::kUndo:
      return after_undo(now);
    case Phase::kUnmark:
      return go(Phase::kUnmarkForget);
    case Phase::kUnmarkForget:
      undoing_.clear();
      return next_group(now);
    default:
      return go(Phase::kIdle);
  }
}

Action Machine::timed_sample(TimePoint now) {
  if (now >= sample_at_) return {.what = Do::kSample};
  wake_ = sample_at_;
  return {};
}

void Machine::stepped(Do what, const Outcome& outcome, TimePoint now) {
  switch (phase_) {
    case Phase::kRelease:
      targets_.erase(group_[0]);
      group_.clear();
      return go(Phase::kIdle);
    case Phase::kBefore:
      first_ = before_ = workers_ = outcome.workers;
      return go(Phase::kMark);
    case Phase::kBeforeReload:
      // Taken now, because a reload by somebody else since the first sample may have loaded the old
      // files: its workers must not pass for ours.
      before_ = workers_ = outcome.workers;
      return go(Phase::kReload);
    case Phase::kTest:
      return tested(outcome, now);
    case Phase::kBaseTest:
      return base_tested(outcome, now);
    case Phase::kReloading:
      if (!outcome.ok) return undo(passed_, "the reload failed: " + outcome.error, true, now);
      go(Phase::kVerify);
      deadline_ = now + options_.verify_timeout;
      sample_at_ = now;
      return;
    case Phase::kUndoReloading:
      go(Phase::kUndoVerify);
      deadline_ = outcome.ok ? now + options_.verify_timeout : now;
      sample_at_ = now;
      return;
    case Phase::kVerify:
    case Phase::kUndoVerify:
    case Phase::kWatch:
      return sampled(outcome, now);
    case Phase::kUndo:
      return undone(outcome);
    default:
      return wrote(what, outcome, now);
  }
}

// Mark, stage, install; commit and forget. A target that cannot be written fails alone.
void Machine::wrote(Do what, const Outcome& outcome, TimePoint now) {
  const std::string name = names()[index_];
  Target& t = at(name);
  if (what == Do::kCommit || what == Do::kForget) {
    // The file serves; without its record the next start only verifies once more.
    if (!outcome.ok) note(name, "not_recorded", outcome.error);
    if (what == Do::kForget) t.marked = !outcome.ok;
    ++index_;
    return;
  }
  if (!outcome.ok || outcome.changed) {
    group_.erase(group_.begin() + static_cast<std::ptrdiff_t>(index_));
    if (!outcome.changed) return fail(name, outcome.error, now);
    differs(name, outcome.file, now);
    return;
  }
  if (what == Do::kMark) t.marked = true;
  if (what == Do::kInstall) {
    t.disk = t.batch;
    t.settled = t.tested = false;
  }
  ++index_;
}

void Machine::tested(const Outcome& outcome, TimePoint now) {
  if (!outcome.ok) return undo(group_, outcome.error, false, now);
  for (const auto& name : group_) at(name).tested = true;
  passed_.insert(passed_.end(), group_.begin(), group_.end());
  next_group(now);
}

void Machine::next_group(TimePoint now) {
  group_.clear();
  if (!queue_.empty()) {
    group_ = std::move(queue_.front());
    queue_.erase(queue_.begin());
    return go(Phase::kStage);
  }
  if (passed_.empty()) return go(Phase::kIdle);
  if (before_.master != 0) return go(Phase::kBeforeReload);
  for (const auto& name : passed_) {  // the rest is done when the poll sees it run
    Target& t = at(name);
    t.in_a_row = 0;
    t.serves.reset();
    t.reason = "written and tested, but Nginx does not run: " + before_.why;
    note(name, "waiting", t.reason);
  }
  passed_.clear();
  change_at_ = now;
  go(Phase::kIdle);
}

void Machine::sampled(const Outcome& outcome, TimePoint now) {
  workers_ = outcome.workers;
  sample_at_ = now + options_.sample_every;
  if (phase_ == Phase::kWatch) return watched(now);
  const bool undoing = phase_ == Phase::kUndoVerify;
  if (new_generation(undoing ? undo_before_ : before_, workers_)) {
    return undoing ? end_undo(true, now) : verified(now);
  }
  if (now < deadline_) return;
  if (undoing) return end_undo(false, now);
  undo(passed_,
       workers_.master == 0 ? "Nginx ended at the reload: " + workers_.why
                            : "the reload had no effect: the former workers still serve",
       true, now);
}

void Machine::verified(TimePoint now) {
  for (const auto& name : passed_) {
    Target& t = at(name);
    t.serves = t.batch;
    t.status.applied_table = t.batch_number;
    t.status.last_success = now;
    note(name, "applied", "new workers serve it");
  }
  watched_ = workers_;
  respawns_ = 0;
  deadline_ = now + options_.watch;
  if (options_.watch == Duration::zero()) return go(Phase::kCommit);
  go(Phase::kWatch);
}

// A reload by somebody else replaces all workers once; crashing workers are replaced again and
// again.
void Machine::watched(TimePoint now) {
  const bool lost =
      std::any_of(watched_.active.begin(), watched_.active.end(), [&](const Worker& w) {
        return std::find(workers_.active.begin(), workers_.active.end(), w) ==
               workers_.active.end();
      });
  if (lost || workers_.active.empty()) ++respawns_;
  watched_ = workers_;
  if (respawns_ >= options_.respawns_most) {
    crashed_ = true;
    return undo(passed_, "workers crashed again and again after the change", true, now);
  }
  if (now >= deadline_) go(Phase::kCommit);
}

void Machine::committed() {
  for (const auto& name : passed_) {
    Target& t = at(name);
    t.good = t.batch;
    t.settled = t.disk == t.batch;  // else edited while watched
    t.tested = false;
    t.in_a_row = 0;
    if (!t.stopped && !t.foreign) t.reason.clear();
    ++t.status.applies;
  }
  passed_.clear();
  go(Phase::kIdle);
}

}  // namespace steelyard::apply::nginx
