// Engines that end, or have to: crashes and pauses after them, loops that stand still, and what a
// dead engine leaves behind.
#include <algorithm>
#include <csignal>
#include <utility>

#include "steelyard/io/clock.h"
#include "steelyard/supervise/reason.h"
#include "steelyard/supervise/supervisor.h"

namespace steelyard::supervise {

using Phase = Engine::Phase;

namespace {

// A program that was just being started may be seen only a little after its engine's end.
constexpr auto kHelperLook = std::chrono::seconds(5);

// "1", "0.5".
std::string seconds_text(base::Duration time) {
  std::string out = std::to_string(base::seconds(time));
  out.erase(out.find_last_not_of('0') + 1);
  if (out.ends_with('.')) out.pop_back();
  return out;
}

}  // namespace

void Supervisor::gone(Engine& engine, const io::Ending& how) {
  const auto at = std::find_if(engines_.begin(), engines_.end(),
                               [&](const auto& other) { return other.get() == &engine; });
  const std::unique_ptr<Engine> last = std::move(*at);  // it is told of this in its own callback
  engines_.erase(at);
  if (holder_ == &engine) holder_ = nullptr;
  helpers_of_ = engine.process.pid();
  helpers_until_ = reactor_.now() + kHelperLook;
  kill_helpers();
  const bool orderly = how.signal == 0 && how.code <= 0;
  if (stopping_) {
    if (!orderly && engine.phase == Phase::kServing) exit_code_ = 1;
    finished_ = engines_.empty();
    return;
  }
  if (engine.phase == Phase::kDraining) {
    events_.on_event("engine_drained", {{"pid", std::to_string(how.pid)}, {"how", how.describe()}});
    tell_status();
  } else if (engine.phase == Phase::kStarting && in(Phase::kServing) != nullptr) {
    upgrade_failed(with_reason("the new engine " + how.describe(), engine.why));
  } else if (!served_) {  // it has said why on stderr
    exit_code_ = how.code > 0 ? how.code : 1;
    finished_ = true;
  } else {
    crashed(how, engine.why);
  }
  give_lease();
}

void Supervisor::crashed(const io::Ending& how, std::string_view why) {
  const auto now = reactor_.now();
  ++status_.crashes;
  status_.last_crash = io::unix_now();
  status_.crashed_pid = how.pid;
  status_.crashed_how = with_reason(how.pid == 0 ? "could not be started" : how.describe(), why);
  std::erase_if(crash_times_, [&](auto when) { return now - when > options_.crash_window; });
  crash_times_.push_back(now);
  status_.recent_crashes.push_back(status_.last_crash);
  while (status_.recent_crashes.size() > crash_times_.size()) {
    status_.recent_crashes.erase(status_.recent_crashes.begin());
  }
  if (how.pid != 0) {
    events_.on_event("engine_crashed",
                     {{"pid", std::to_string(how.pid)}, {"how", status_.crashed_how}});
  }
  tell_status();
  if (in(Phase::kStarting) != nullptr) return;  // an upgrade was under way: that one takes over
  if (how.pid != 0 && crash_times_.size() <= options_.crashes) return spawn(/*kept=*/true);
  const auto times = crash_times_.size() - std::min(crash_times_.size(), options_.crashes);
  const auto pause = std::min<base::Duration>(
      options_.longest_pause,
      std::chrono::seconds(1) * (1L << std::min<std::size_t>(times, 10)) / 2);
  restart_at_ = now + pause;
  events_.on_event("engine_held_back", {{"crashes", std::to_string(crash_times_.size())},
                                        {"seconds", seconds_text(pause)},
                                        {"text", "the next start waits; HUP ends the wait"}});
}

void Supervisor::on_time() noexcept {
  const auto now = reactor_.now();
  timer_->at(now + options_.look);
  for (const auto& engine : engines_) look_after(*engine, now);
  if (now >= restart_at_ && !stopping_) spawn(/*kept=*/true);
  if (now < helpers_until_) kill_helpers();
  reap_strangers();
}

void Supervisor::look_after(Engine& engine, base::TimePoint now) {
  const std::string pid = std::to_string(engine.process.pid());
  if (engine.aborted != base::TimePoint{}) {  // it had its chance to tell its stack
    if (now - engine.aborted > std::chrono::seconds(2)) engine.process.kill(SIGKILL);
  } else if (engine.phase == Phase::kStarting) {
    const bool stuck = holder_ != nullptr && holder_->asked_back != base::TimePoint{} &&
                       now - holder_->asked_back > options_.lease_limit;
    if (!stuck && now - engine.since < options_.start_limit) return;
    engine.why =
        stuck ? "the old engine does not give the lease back" : "it does not serve in time";
    events_.on_event("engine_too_slow", {{"pid", pid}, {"text", engine.why}});
    engine.aborted = now;
    engine.process.kill(SIGKILL);
  } else if (const int thread = engine.pulses.stalled(engine.heartbeat, now, options_.stall);
             thread != 0) {
    // One that is stopped as a whole (SIGSTOP, a debugger) will go on.
    if (engine.process.stopped()) return engine.pulses.forget();
    const std::string name = engine.process.thread_name(thread);
    const std::string time = seconds_text(options_.stall);
    engine.why = "its thread " + name + " stood still for " + time + " s";
    events_.on_event("engine_stands_still", {{"pid", pid},
                                             {"thread", name},
                                             {"tid", std::to_string(thread)},
                                             {"seconds", time},
                                             {"text", "it is aborted and tells its stack"}});
    engine.aborted = now;
    engine.process.kill_thread(thread, SIGABRT);
  }
}

// An engine's commands (`nginx -t`) end with it: the next one repairs what is half done, and must
// not meet them. What has made itself a session of its own is a daemon, and stays.
void Supervisor::kill_helpers() {
  std::vector<int> ours = strangers_;
  for (const auto& engine : engines_) ours.push_back(engine->process.pid());
  if (check_ != nullptr) ours.push_back(check_->pid());
  for (const auto& helper : io::kill_orphans(helpers_of_, ours)) {
    events_.on_event("helper_killed", {{"pid", std::to_string(helper.pid)},
                                       {"command", helper.command},
                                       {"text", "the engine that had started it has ended"}});
  }
}

// Children of a dead engine end up here.
void Supervisor::reap_strangers() {
  while (const int pid = check_ == nullptr ? io::ended_child() : 0) {
    for (const auto& engine : engines_) {
      if (engine->process.pid() == pid) return;  // its own watch sees to it
    }
    io::reap(pid);
  }
}

}  // namespace steelyard::supervise
