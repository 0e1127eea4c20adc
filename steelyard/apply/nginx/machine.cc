// Machine: what is told and asked from outside. The work is in idle.cc, batch.cc and undo.cc.
#include "steelyard/apply/nginx/machine.h"

#include <utility>

namespace steelyard::apply::nginx {

std::string_view to_text(Do what) noexcept {
  switch (what) {
    case Do::kNothing:
      return "nothing";
    case Do::kLock:
      return "lock";
    case Do::kCheck:
      return "check";
    case Do::kLoad:
      return "load";
    case Do::kLook:
      return "look";
    case Do::kSample:
      return "sample";
    case Do::kMark:
      return "mark";
    case Do::kStage:
      return "stage";
    case Do::kInstall:
      return "install";
    case Do::kTest:
      return "test";
    case Do::kReload:
      return "reload";
    case Do::kUndo:
      return "undo";
    case Do::kCommit:
      return "commit";
    case Do::kForget:
      return "forget";
    case Do::kRelease:
      return "release";
  }
  return "?";
}

void Machine::add(const std::string& name) {
  const auto [place, fresh] = targets_.try_emplace(name);
  Target& t = place->second;
  t.leaving = false;
  if (std::exchange(t.retired, false)) t.want.reset();
  if (fresh) t.name = name;
}

void Machine::retire(const std::string& name) {
  Target& t = at(name);
  t.retired = true;
  t.by_us = t.fallback = false;
  t.want = Content();
}

void Machine::leave(const std::string& name) { at(name).leaving = true; }

void Machine::want(const std::string& name, std::string text, std::uint64_t number, bool fallback) {
  Target& t = at(name);
  if (t.retired) return;
  t.want = std::move(text);
  t.want_number = number;
  t.fallback = fallback;
  t.by_us = false;
  t.status.wanted_table = number;
  recognise(t);
}

// What serves is what is wanted: applied, though nothing was done.
void Machine::recognise(Target& t) {
  if (t.want && t.open && t.settled && t.disk == *t.want) t.status.applied_table = t.want_number;
}

void Machine::resume(const std::string& name) {
  Target& t = at(name);
  t.stopped = false;
  t.in_a_row = 0;
  t.retry_at = {};
  t.edit_times.clear();
  t.reason.clear();
}

Action Machine::next(TimePoint now) {
  wake_ = TimePoint::max();
  if (outstanding_) return {};
  const Action out = phase_ == Phase::kIdle ? idle(now) : step(now);
  // A reload may outlive its time and the phase, so it blocks only the phase that waits for it.
  if (out.what != Do::kNothing && out.what != Do::kReload) outstanding_ = out.what;
  return out;
}

void Machine::finished(Do what, Outcome outcome, TimePoint now) {
  if (what == Do::kReload) {
    reload_runs_ = false;
  } else {
    outstanding_.reset();
  }
  if (what == Do::kReload && phase_ != Phase::kReloading && phase_ != Phase::kUndoReloading) return;
  switch (phase_) {
    case Phase::kIdle:
      break;
    case Phase::kOpen:
      opened(what, outcome, now);
      break;
    case Phase::kLook:
    case Phase::kLookWorkers:
    case Phase::kWatchLook:
      looked(outcome, now);
      break;
    default:
      stepped(what, outcome, now);
  }
}

State Machine::state(const Target& t) const {
  if (t.stopped) return State::kStopped;
  if (t.foreign || (!t.open && !t.reason.empty())) return State::kRefused;
  if (!t.open) return State::kStarting;
  const bool change = wants_change(t);
  if (t.in_a_row >= options_.failures_most) return State::kAlarm;
  if (t.in_a_row > 0 && change) return State::kFailed;
  if (phase_ >= Phase::kBefore) {
    for (const Names* names : {&group_, &passed_, &undoing_}) {
      for (const auto& name : *names) {
        if (name == t.name) return State::kApplying;
      }
    }
  }
  if (change && workers_.master == 0 && t.disk == aim(t)) return State::kWaiting;
  if (change) return State::kPending;
  return t.want && !t.by_us ? State::kApplied : State::kIdle;
}

std::vector<Event> Machine::take_events() { return std::exchange(events_, {}); }

void Machine::note(const std::string& target, std::string_view what, std::string text) {
  events_.push_back({.upstream = target, .what = what, .text = std::move(text)});
}

}  // namespace steelyard::apply::nginx
