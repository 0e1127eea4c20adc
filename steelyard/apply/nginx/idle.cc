// Machine, while no change is under way: open targets, look for edits, see what is to be done.
#include <algorithm>
#include <utility>

#include "steelyard/apply/nginx/machine.h"
#include "steelyard/apply/nginx/plan.h"

namespace steelyard::apply::nginx {

// What FILE should hold: the want, or the good content when the want is a fallback only.
const Content& Machine::aim(const Target& t) const {
  return t.fallback && t.good && !t.good->empty() ? t.good : *t.want;
}

bool Machine::wants_change(const Target& t) const {
  return t.want && (t.disk != aim(t) || !t.settled);
}

Action Machine::idle(TimePoint now) {
  Names ready;
  TimePoint wake = poll_at_;
  const auto gap_end = change_at_ ? *change_at_ + options_.gap : TimePoint{};
  opening_.clear();
  for (auto& [name, t] : targets_) {
    if (t.leaving || (t.retired && (!t.open || t.foreign || t.stopped || (!t.disk && t.settled)))) {
      phase_ = Phase::kRelease;
      group_ = {name};
      return step(now);
    }
    if (!t.open) {
      if (now >= t.retry_at) opening_.push_back(name);
      wake = std::min(wake, t.retry_at);
      continue;
    }
    if (t.foreign || t.stopped || reload_runs_) continue;
    recognise(t);
    if (!wants_change(t)) continue;
    // Written and tested already: nothing more can be done until the poll sees Nginx run.
    if (t.tested && t.disk == aim(t) && workers_.master == 0) continue;
    const TimePoint due = std::max(t.retry_at, gap_end);
    if (now >= due) {
      ready.push_back(name);
    } else {
      wake = std::min(wake, due);
    }
  }
  index_ = 0;
  if (!opening_.empty()) {
    phase_ = Phase::kOpen;
    open_step_ = Do::kCheck;
    return step(now);
  }
  if (!ready.empty()) {
    begin(std::move(ready));
    return step(now);
  }
  if (now >= poll_at_) {
    poll(now, Phase::kLook);
    return step(now);
  }
  wake_ = wake;
  return {};
}

// A round over the files: an edit is seen within two polls.
void Machine::poll(TimePoint now, Phase phase) {
  poll_at_ = now + options_.poll;
  looking_.clear();
  for (const auto& [name, t] : targets_) {
    if (t.open) looking_.push_back(name);
  }
  go(phase);
}

void Machine::opened(Do what, Outcome& outcome, TimePoint now) {
  const std::string name = opening_[index_];
  Target& t = at(name);
  if (outcome.ok && what != Do::kLoad) {
    open_step_ = what == Do::kCheck ? Do::kLock : Do::kLoad;
    return;
  }
  ++index_;
  open_step_ = Do::kCheck;
  if (!outcome.ok) {
    if (t.reason != outcome.error) note(name, "refused", outcome.error);
    t.reason = t.status.last_error = outcome.error;
    t.retry_at =
        now + std::min(options_.backoff * (1U << std::min(t.in_a_row, 16U)), options_.backoff_most);
    ++t.in_a_row;
    return;
  }
  t.open = true;
  t.disk = std::move(outcome.file);
  t.marked = outcome.prev.has_value();
  t.good = outcome.prev ? std::move(outcome.prev) : std::move(outcome.good);
  t.settled = !t.marked && t.good == t.disk;
  if (t.good && t.good->empty()) t.good.reset();  // an empty .prev says: there was no file
  t.in_a_row = 0;
  t.retry_at = now;
  t.reason.clear();
  adopt(name, now);
}

// What was found at start, or after a foreign file went away.
void Machine::adopt(const std::string& name, TimePoint now) {
  Target& t = at(name);
  const Owner whose = t.disk ? owner(*t.disk) : Owner::kEmpty;
  t.foreign = whose == Owner::kForeign;
  if (t.foreign) {
    t.reason = "the file was not written by steelyard: move it away, or name another file";
    t.status.last_error = t.reason;
    note(name, "refused", t.reason);
    return;
  }
  if (t.settled) {
    t.serves = t.disk;
    return;
  }
  if (!t.marked && t.good) {  // with .good and without .prev nothing of ours was under way
    edited(name, t.disk, now);
    return;
  }
  if (!t.marked && whose == Owner::kEmpty) {
    t.settled = true;  // no file, or nothing in it: a first start
    return;
  }
  note(name, "repairing", "a change was cut off: the file is tested and loaded again");
  if (!t.marked && !t.good) t.good = t.disk;  // nothing better is known
  if (!t.want && (whose == Owner::kOurs || t.marked)) {
    t.by_us = true;
    t.want = whose == Owner::kOurs ? t.disk : t.good;
  }
}

void Machine::looked(const Outcome& outcome, TimePoint now) {
  if (phase_ == Phase::kLookWorkers) {
    workers_ = outcome.workers;
    phase_ = Phase::kIdle;
    return;
  }
  const std::string name = looking_[index_++];
  Target& t = at(name);
  if (!outcome.ok) {
    if (t.status.last_error != outcome.error) note(name, "unreadable", outcome.error);
    t.status.last_error = outcome.error;
    return;
  }
  if (outcome.file == t.disk) {
    t.unsure.reset();
    return;
  }
  differs(name, outcome.file, now);
}

// FILE does not hold what it did. Editors truncate, then write: what is seen once may be half of
// it, so it counts when a second look finds the same.
void Machine::differs(const std::string& name, const Content& text, TimePoint now) {
  Target& t = at(name);
  if (t.unsure != text) {
    t.unsure = text;
    t.retry_at = std::max(t.retry_at, now + options_.look_again);
    poll_at_ = std::min(poll_at_, now + options_.look_again);
    return;
  }
  t.unsure.reset();
  if (t.foreign) {
    const Owner whose = text ? owner(*text) : Owner::kEmpty;
    if (whose == Owner::kForeign) return;
    t.open = t.foreign = false;  // load it anew
    t.retry_at = now;
    t.reason.clear();
    return;
  }
  edited(name, text, now);
}

// Somebody else changed the file of a target.
void Machine::edited(const std::string& name, const Content& text, TimePoint now) {
  Target& t = at(name);
  ++t.status.edits;
  t.disk = text;
  t.settled = false;
  std::erase_if(t.edit_times, [&](TimePoint e) { return now - e > options_.edits_window; });
  t.edit_times.push_back(now);
  if (text && owner(*text) == Owner::kForeign) {
    t.foreign = true;
    t.reason = "the file was replaced by one that steelyard did not write: it is left alone";
  } else if (!options_.reassert) {
    t.stopped = true;
    t.reason = "the file was changed by somebody else, and on_edit is stop";
  } else if (t.edit_times.size() > options_.edits_most) {
    t.stopped = true;
    t.reason = "the file was changed by somebody else " + std::to_string(t.edit_times.size()) +
               " times in a minute: a second writer fights for it";
  } else {
    note(name, "edited", "the file was changed by somebody else; it is written again");
    if (!t.want) {
      t.by_us = true;
      t.want = t.good;
    }
    return;
  }
  t.status.last_error = t.reason;
  note(name, t.stopped ? "stopped" : "refused", t.reason);
}

}  // namespace steelyard::apply::nginx
