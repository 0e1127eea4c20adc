// A pretended Nginx with its files, for the machine's tests: does what actions ask for, in virtual
// time, and fails where it is told to. Files are whole at every step, as the real ones are.
#pragma once

#include <algorithm>
#include <functional>
#include <gtest/gtest.h>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "steelyard/apply/nginx/machine.h"
#include "steelyard/apply/nginx/plan.h"

namespace steelyard::apply::nginx {

using std::chrono::milliseconds;
using std::chrono::seconds;

inline std::string file_text(const std::string& name, unsigned weight) {
  Plan p{.upstream = name, .servers = {}};
  p.servers.push_back({.name = "a", .address = base::Address::loopback(80), .weight = weight});
  p.servers.push_back({.name = "b", .address = base::Address::loopback(81), .weight = 100});
  return *write(p);
}

class World {
 public:
  struct Files {
    Content file, prev, good, staged;
  };

  explicit World(MachineOptions options = {}) : options_(options), machine_(options) {
    load_workers();
  }

  std::map<std::string, Files> files;
  std::map<std::string, std::string> loaded;  // what the workers serve
  Workers workers;
  bool running = true;
  bool reload_takes = true;  // else the signal is lost
  bool reload_exits_ok = true;
  bool reload_ends = true;
  bool crash_loop = false;  // workers change at every look, after a reload
  std::function<bool(const World&)> test_passes = [](const World&) { return true; };
  std::set<Do> failing;  // these actions fail
  std::set<std::pair<Do, std::string>> failing_for;
  bool edit_before_install = false;
  std::vector<Do> done;
  std::vector<base::TimePoint> reload_times;
  std::vector<Event> events;

  Machine& machine() { return machine_; }
  base::TimePoint now{std::chrono::hours(1)};

  const Target& target(const std::string& name = "api") {
    return machine_.targets().find(name)->second;
  }
  State state(const std::string& name = "api") { return machine_.state(target(name)); }
  std::size_t count(Do what) const {
    return static_cast<std::size_t>(std::count(done.begin(), done.end(), what));
  }

  // As kill -9 and a new start.
  void restart() {
    machine_ = Machine(options_);
    for (auto& [name, f] : files) f.staged.reset();
  }

  // One action; false when the machine has nothing to do now.
  bool act() {
    const Action action = machine_.next(now);
    if (action.what == Do::kNothing) return false;
    done.push_back(action.what);
    Outcome out = perform(action);
    if (action.what == Do::kReload && !reload_ends) return true;
    machine_.finished(action.what, std::move(out), now);
    for (auto& e : machine_.take_events()) events.push_back(std::move(e));
    return true;
  }

  void run(base::Duration time) {
    const auto end = now + time;
    for (;;) {
      int actions = 0;
      while (act()) {
        if (++actions > 10000) std::abort();  // spinning without time going on
      }
      if (machine_.wake() > end) break;
      now = std::max(now + std::chrono::nanoseconds(1), machine_.wake());
    }
    now = end;
  }
  bool happened(std::string_view what) const {
    return std::any_of(events.begin(), events.end(),
                       [&](const Event& e) { return e.what == what; });
  }

  void load_workers() {
    workers.master = running ? 77 : 0;
    workers.active.clear();
    if (running) {
      workers.active = {{++pid_, 1}, {++pid_, 1}};
    } else {
      workers.why = "no pid file";
    }
    loaded.clear();
    for (const auto& [name, f] : files) {
      if (f.file) loaded[name] = *f.file;
    }
  }

 private:
  Outcome perform(const Action& action) {
    Outcome out;
    if (failing.count(action.what) != 0 || failing_for.count({action.what, action.target}) != 0) {
      out.ok = false;
      out.error = "no luck";
      return out;
    }
    Files& f = files[action.target];
    switch (action.what) {
      case Do::kLoad:
        out.file = f.file, out.prev = f.prev, out.good = f.good;
        break;
      case Do::kLook:
        out.file = f.file;
        break;
      case Do::kSample:
        if (crash_loop && !reload_times.empty()) workers.active = {{++pid_, 1}, {++pid_, 1}};
        out.workers = workers;
        break;
      case Do::kMark:
        f.prev = action.text, f.good.reset();
        break;
      case Do::kStage:
        f.staged = action.text;
        break;
      case Do::kInstall:
        if (std::exchange(edit_before_install, false)) f.file = *f.file + "# by hand\n";
        if (f.file != action.expect) {
          out.changed = true;
          out.file = f.file;
        } else {
          f.file = action.text ? std::exchange(f.staged, {}) : Content();
        }
        break;
      case Do::kTest:
        out.ok = test_passes(*this);
        out.error = out.ok ? "" : "[emerg] bad";
        break;
      case Do::kReload:
        reload_times.push_back(now);
        out.ok = reload_exits_ok && running;
        out.error = "exited with status 1";
        if (reload_takes && out.ok) load_workers();
        break;
      case Do::kUndo:
        f.file = action.text;
        break;
      case Do::kCommit:
        f.good = action.text;
        break;
      case Do::kForget:
        f.prev.reset();
        break;
      default:
        break;
    }
    if (action.target.empty()) files.erase("");
    return out;
  }

  MachineOptions options_;
  Machine machine_;
  int pid_ = 100;
};

// A world whose Nginx serves `weight`, verified and settled.
inline World settled(unsigned weight = 10, MachineOptions options = {}) {
  World w(options);
  w.machine().add("api");
  w.machine().want("api", file_text("api", weight), 1);
  w.run(seconds(60));
  EXPECT_EQ(w.state(), State::kApplied);
  EXPECT_EQ(w.loaded["api"], file_text("api", weight));
  w.done.clear();
  w.events.clear();
  w.reload_times.clear();
  return w;
}

inline void want(World& w, unsigned weight, std::uint64_t number = 2,
                 const std::string& name = "api") {
  w.machine().want(name, file_text(name, weight), number);
}

}  // namespace steelyard::apply::nginx
