// The rules of driving one Nginx: events in, actions out, no effect of its own.
//
// A lane is one Nginx with the files (targets) of one or more upstreams. A change runs as
//   sample → mark → stage → install → test → sample → reload → verify → watch → commit → forget
// for all targets that have one, in one batch. If the test fails, the files are put back, the test
// is run on what was there before (is it we who spoil it?), then each target alone, so that one bad
// target does not hold up the others. If reload, verification or watch fails, all files are put
// back and Nginx is made to load them. On disk beside FILE: `.prev` (content to go back to; there
// while a change is unfinished; empty means no file) and `.good` (content last verified; equal to
// FILE when all is settled). A kill at any point leaves FILE old or new, and `.prev` or a missing
// `.good` tells the next start to test, reload and verify again, or to put the old content back.
// One action is outstanding at a time. Wants that come meanwhile wait and the last wins; reloads
// are no closer than `gap`. A failed target is retried after `backoff`, doubled up to
// `backoff_most`; from the third failure in a row it is in alarm and retried every `rest` only.
// Crashing workers, or a file that others changed more than `edits_most` times in `edits_window`,
// stop a target until resume(). Pure: virtual time, O(targets) a call. Threads: control.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "steelyard/apply/driver.h"
#include "steelyard/apply/nginx/workers.h"
#include "steelyard/base/time.h"

namespace steelyard::apply::nginx {

using base::Duration;
using base::TimePoint;

using Content = std::optional<std::string>;  // of a file; nothing: there is no file

enum class Do : std::uint8_t {
  kNothing,  // until wake(), or until something is told
  kCheck,    // may we create, replace and remove beside the target?
  kLock,     // take the target's lock
  kLoad,     // read FILE, .prev and .good
  kLook,     // read FILE
  kSample,   // read the workers
  kMark,     // write `text` into .prev, remove .good
  kStage,    // write `text` beside FILE
  kInstall,  // put the staged text in place (text empty: remove FILE), if FILE still holds `expect`
  kTest,     // run the test command
  kReload,   // run the reload command; told by finished() whenever it ends
  kUndo,     // put `text` back in place (empty: remove FILE)
  kCommit,   // write `text` into .good (empty: remove .good)
  kForget,   // remove .prev
  kRelease,  // the target is gone: drop its lock
};
[[nodiscard]] std::string_view to_text(Do what) noexcept;

struct Action {
  Do what = Do::kNothing;
  std::string target;  // the file's path; empty: about the Nginx
  Content text;
  Content expect;
};

struct Outcome {
  bool ok = true;
  std::string error;     // in words, for !ok
  bool changed = false;  // kInstall: FILE no longer holds what was expected
  Content file, prev, good;
  Workers workers;
};

struct MachineOptions {
  Duration gap = std::chrono::seconds(5);
  Duration verify_timeout = std::chrono::seconds(8);  // from the reload's start, if it hangs
  Duration watch = std::chrono::seconds(3);
  bool reassert = true;  // else an edit stops the target

  Duration poll = std::chrono::seconds(1);               // an edit is seen within two seconds
  Duration look_again = std::chrono::milliseconds(100);  // whether a difference is a whole edit
  Duration sample_every = std::chrono::milliseconds(50);
  unsigned respawns_most = 3;  // changes of the worker set while watching that make a crash loop
  Duration backoff = std::chrono::seconds(1);
  Duration backoff_most = std::chrono::seconds(60);
  unsigned failures_most = 3;
  Duration rest = std::chrono::minutes(5);
  std::size_t edits_most = 3;
  Duration edits_window = std::chrono::seconds(60);
};

struct Target {
  std::string name;
  // what is wanted
  std::optional<Content> want;
  std::uint64_t want_number = 0;
  bool fallback = false;  // only if there is no good content to stay at
  bool by_us = false;     // wanted by the repair at start, not by control
  bool leaving = false;   // let go as it is
  bool retired = false;   // wanted gone, then let go
  // what is there
  bool open = false;     // checked, locked, loaded
  bool foreign = false;  // not ours: never touched
  bool stopped = false;
  Content disk;                   // what FILE holds
  std::optional<Content> unsure;  // seen once in FILE instead of disk
  Content good;                   // last verified content, to go back to
  std::optional<Content> serves;  // what Nginx was seen to load; nothing: unknown
  bool settled = false;           // disk is what Nginx serves, and .good says so
  bool marked = false;            // .prev is there
  bool tested = false;            // disk passed the test command, and waits for Nginx to run
  // the change under way
  Content batch;
  std::uint64_t batch_number = 0;
  bool was_settled = false;
  // history
  unsigned in_a_row = 0;  // failures since the last success
  TimePoint retry_at{};
  std::vector<TimePoint> edit_times;
  std::string reason;
  Status status;  // counters, applied_table, last_error, last_success
};

class Machine {
 public:
  explicit Machine(MachineOptions options) : options_(options) {}

  // A target is named by its file. It begins with kCheck; one that was to be retired stays.
  void add(const std::string& name);
  // The target's file goes away, then the target.
  void retire(const std::string& name);
  // The target goes, its file stays: somebody else drives it from now on.
  void leave(const std::string& name);
  // `fallback`: text for a target without any good content; else the good content stays.
  void want(const std::string& name, std::string text, std::uint64_t number, bool fallback = false);
  void resume(const std::string& name);

  [[nodiscard]] Action next(TimePoint now);
  void finished(Do what, Outcome outcome, TimePoint now);
  // When to call next() again, if nothing happens before; valid after next() gave kNothing.
  [[nodiscard]] TimePoint wake() const noexcept { return wake_; }

  [[nodiscard]] const std::map<std::string, Target>& targets() const noexcept { return targets_; }
  [[nodiscard]] State state(const Target& target) const;
  [[nodiscard]] std::uint64_t reloads() const noexcept { return reloads_; }
  [[nodiscard]] const Workers& workers() const noexcept { return workers_; }
  [[nodiscard]] std::vector<Event> take_events();

 private:
  enum class Phase : std::uint8_t {
    kIdle,
    kOpen,
    kLook,
    kLookWorkers,
    kRelease,
    // a change, forwards …
    kBefore,
    kMark,
    kStage,
    kInstall,
    kTest,
    kBeforeReload,
    kReload,
    kReloading,
    kVerify,
    kWatch,
    kWatchLook,
    kCommit,
    kForget,
    // … and backwards
    kUndo,
    kBaseTest,
    kUndoReload,
    kUndoReloading,
    kUndoVerify,
    kUnmark,
    kUnmarkForget,
  };
  using Names = std::vector<std::string>;

  Target& at(const std::string& name) { return targets_.find(name)->second; }
  // idle.cc: what to do next when no change is under way
  Action idle(TimePoint now);
  [[nodiscard]] bool wants_change(const Target& t) const;
  [[nodiscard]] const Content& aim(const Target& t) const;
  void recognise(Target& t);
  void poll(TimePoint now, Phase phase);
  void opened(Do what, Outcome& outcome, TimePoint now);
  void adopt(const std::string& name, TimePoint now);
  void looked(const Outcome& outcome, TimePoint now);
  void differs(const std::string& name, const Content& text, TimePoint now);
  void edited(const std::string& name, const Content& text, TimePoint now);
  // batch.cc: a change, forwards
  void begin(Names names);
  Action step(TimePoint now);
  bool write_action(Action& out);
  Action timed_sample(TimePoint now);
  void go(Phase phase);
  void end_of_phase(TimePoint now);
  void stepped(Do what, const Outcome& outcome, TimePoint now);
  void wrote(Do what, const Outcome& outcome, TimePoint now);
  void tested(const Outcome& outcome, TimePoint now);
  void next_group(TimePoint now);
  void sampled(const Outcome& outcome, TimePoint now);
  void watched(TimePoint now);
  void verified(TimePoint now);
  void committed();
  // undo.cc: a change, backwards
  void undo(Names names, std::string reason, bool reload, TimePoint now);
  void undone(const Outcome& outcome);
  void after_undo(TimePoint now);
  void base_tested(const Outcome& outcome, TimePoint now);
  void end_undo(bool loaded, TimePoint now);
  void fail(const std::string& name, const std::string& reason, TimePoint now);
  void retry_later(Target& t, TimePoint now);
  [[nodiscard]] const Names& names() const;
  void note(const std::string& target, std::string_view what, std::string text);

  MachineOptions options_;
  std::map<std::string, Target> targets_;
  Phase phase_ = Phase::kIdle;
  std::optional<Do> outstanding_;
  TimePoint wake_{};
  TimePoint poll_at_{};
  std::optional<TimePoint> change_at_;  // last reload, or last change without Nginx running
  std::vector<Event> events_;

  Names opening_;
  Do open_step_ = Do::kCheck;
  Names looking_;
  std::size_t index_ = 0;     // into the names of the phase
  Names group_;               // under test now
  std::vector<Names> queue_;  // to be tested after it
  Names passed_;              // tested, to be loaded
  Names undoing_;
  std::string undo_reason_;
  bool undo_reload_ = false;
  bool undo_wrote_ = false;
  bool crashed_ = false;
  bool reload_runs_ = false;  // the command has not ended yet
  Workers first_;             // before anything was written
  Workers before_;            // the generation that is to be replaced
  Workers undo_before_;       // and the one that the undoing is to replace
  Workers watched_;
  Workers workers_;  // last seen
  unsigned respawns_ = 0;
  TimePoint deadline_{};
  TimePoint sample_at_{};
  std::uint64_t reloads_ = 0;
};

}  // namespace steelyard::apply::nginx
