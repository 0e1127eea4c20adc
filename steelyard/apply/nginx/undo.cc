// Machine: a change that failed, backwards: files put back, and Nginx made to load them.
#include <algorithm>
#include <utility>

#include "steelyard/apply/nginx/machine.h"

namespace steelyard::apply::nginx {

void Machine::undo(Names names, std::string reason, bool reload, TimePoint now) {
  undoing_ = std::move(names);
  undo_reason_ = std::move(reason);
  undo_reload_ = reload;
  undo_wrote_ = false;
  undo_before_ = workers_;
  if (reload) {  // said at once: seeing the old split again takes its time
    for (const auto& name : undoing_) fail(name, undo_reason_, now);
  }
  go(Phase::kUndo);
}

void Machine::undone(const Outcome& outcome) {
  const std::string name = undoing_[index_++];
  Target& t = at(name);
  if (!outcome.ok) {
    // FILE keeps the new content and .prev the old one: the next try or the next start goes on.
    note(name, "undo_failed", outcome.error);
    return;
  }
  undo_wrote_ = true;
  t.disk = t.good;
  t.tested = false;
  ++t.status.rollbacks;
}

void Machine::after_undo(TimePoint now) {
  if (undo_reload_) {
    if (reload_runs_ || !undo_wrote_) return end_undo(false, now);
    return go(Phase::kUndoReload);
  }
  if (!undo_wrote_) return end_undo(false, now);
  go(Phase::kBaseTest);  // is it we who spoil the test?
}

void Machine::base_tested(const Outcome& outcome, TimePoint now) {
  if (!outcome.ok) {
    undo_reason_ += "; the test fails without this change too: " + outcome.error;
    for (auto& group : queue_) undoing_.insert(undoing_.end(), group.begin(), group.end());
    queue_.clear();
  } else if (undoing_.size() > 1) {
    for (auto& name : undoing_) queue_.push_back({name});
    undoing_.clear();
    return next_group(now);
  }
  end_undo(false, now);
}

// `loaded`: new workers were seen after the files were put back.
void Machine::end_undo(bool loaded, TimePoint now) {
  const bool untouched = !undo_reload_ || workers_.active == first_.active;
  for (const auto& name : undoing_) {
    Target& t = at(name);
    const bool back = t.disk == t.good;
    t.settled = back && (loaded || (t.was_settled && untouched));
    if (t.settled) {
      t.serves = t.good;
    } else if (undo_reload_) {
      t.serves.reset();
    }
    if (t.by_us && back) t.want = t.good;  // a repair: what is good still has to be loaded
    if (!undo_reload_) fail(name, undo_reason_, now);
    retry_later(t, now);
    if (crashed_) {
      t.stopped = true;
      note(name, "stopped", undo_reason_);
    }
  }
  if (undo_reload_) passed_.clear();
  go(Phase::kUnmark);
}

void Machine::fail(const std::string& name, const std::string& reason, TimePoint now) {
  Target& t = at(name);
  ++t.in_a_row;
  ++t.status.failures;
  t.reason = t.status.last_error = reason;
  retry_later(t, now);
  note(name, "failed", reason);
  if (t.in_a_row == options_.failures_most) {
    note(name, "alarm", "failed " + std::to_string(t.in_a_row) + " times in a row: " + reason);
  }
}

void Machine::retry_later(Target& t, TimePoint now) {
  const Duration wait =
      std::min(options_.backoff * (1U << std::min(t.in_a_row - 1, 16U)), options_.backoff_most);
  t.retry_at = now + (t.in_a_row >= options_.failures_most ? options_.rest : wait);
}

}  // namespace steelyard::apply::nginx
