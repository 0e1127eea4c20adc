// The supervisor with engines that only play their part: this test's own program, started again.
#include "steelyard/supervise/supervisor.h"

#include <algorithm>
#include <csignal>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "steelyard/io/clock.h"
#include "steelyard/io/crash.h"
#include "steelyard/io/epoll.h"
#include "steelyard/io/remote_provider.h"
#include "steelyard/io/signal.h"
#include "steelyard/io/socket.h"

namespace steelyard::supervise {
namespace {

using namespace std::chrono_literals;

// --- the engine's part

// engine MODE ADDRESS. Writes "pid:port " behind what the state holds when it gets the lease.
//   serve    does what it is told
//   die      status 3 at once
//   mute     greets, and then says nothing
//   stall    a loop of it stops beating once it serves
//   keep     does not give the lease back
//   refuse   says why it does not start, and ends with status 1
int play(const std::string& mode, const base::Address& address) {
  if (mode == "die") return 3;
  io::leave_no_core();
  io::tell_crashes();
  io::block_signals();
  const auto reactor = io::make_epoll_reactor();
  const io::Fd inherited(3);
  auto provider = io::RemoteProvider::connect(*reactor, io::duplicate(inherited));
  if (!provider) return 1;
  io::RemoteProvider& supervisor = **provider;
  if (mode != "mute") {
    const auto socket = supervisor.listener(address, 0);
    if (mode == "refuse") {
      supervisor.not_started("s.yaml:6:1: no \x1b[1m" + std::string(5000, 'x'));
      return 1;
    }
    if (!socket || supervisor.workers(2) != 2 || !supervisor.lease()) return 1;
    supervisor.put_state(supervisor.state() + std::to_string(::getpid()) + ":" +
                         std::to_string(io::local_address(*socket)->port()) + " ");
    supervisor.keep_only(std::vector{address});
    supervisor.ready();
  }
  if (mode == "stall") supervisor.pulse(1)->thread.set(::gettid());
  io::Beating beating(supervisor.pulse(0));
  for (bool found = false;;) {
    beating.beat();
    reactor->run_turn(reactor->now() + 50ms);
    while (const auto message = supervisor.next()) {
      if (message->verb == io::Verb::kHandOver) return 0;
      if (message->verb == io::Verb::kSignal) return 0;
      if (message->verb == io::Verb::kGiveBack && mode != "keep") supervisor.gave_back();
    }
    if (supervisor.lost() && !found && !supervisor.let_be_found().empty()) return 4;
    found = supervisor.lost();
  }
}

__attribute__((constructor)) void become_an_engine(int argc, char** argv) {
  if (argc < 4 || std::string_view(argv[1]) != "engine") return;
  ::_exit(play(argv[2], *base::Address::parse(argv[3], true)));
}

// --- the supervisor's

class Supervisors : public ::testing::Test, protected Supervisor::Events {
 protected:
  Supervisors() {
    options_.look = 20ms;
    options_.stall = 1s;
    options_.start_limit = 20s;
  }
  ~Supervisors() override {
    supervisor_.reset();
    for (const int pid : pids_) ::kill(pid, SIGKILL);
    for (const int pid : pids_) ::waitpid(pid, nullptr, 0);
  }

  void on_event(std::string_view what, Supervisor::Fields fields) noexcept override {
    std::string line(what);
    for (const auto& [key, value] : fields) {
      line += " " + std::string(key) + "=" + std::string(value);
      if (what == "engine_serves" && key == "pid") pids_.push_back(std::stoi(std::string(value)));
    }
    lines_.push_back(line);
  }

  void start(const std::string& mode, const base::Address& at = base::Address::loopback(0)) {
    options_.engine_arguments = {"fake", "engine", mode, at.to_text()};
    supervisor_ =
        std::make_unique<Supervisor>(*reactor_, options_, static_cast<Supervisor::Events&>(*this));
    ASSERT_TRUE(supervisor_->start());
  }
  template <typename F>
  [[nodiscard]] bool run_until(F done, base::Duration most = 20s) {
    const auto end = io::steady_now() + most;
    while (!done() && io::steady_now() < end) {
      reactor_->run_turn(io::steady_now() + 20ms);
    }
    return done();
  }
  [[nodiscard]] std::size_t told(std::string_view what) const {
    return static_cast<std::size_t>(std::count_if(
        lines_.begin(), lines_.end(), [&](const auto& line) { return line.starts_with(what); }));
  }
  [[nodiscard]] bool tells(std::string_view what, std::size_t times = 1) {
    return run_until([&] { return told(what) >= times; });
  }
  [[nodiscard]] std::string all() const {
    std::string out;
    for (const auto& line : lines_) out += line + "\n";
    return out;
  }
  void stop() {
    supervisor_->on_signal(SIGTERM);
    EXPECT_TRUE(run_until([&] { return supervisor_->finished(); })) << all();
    EXPECT_EQ(supervisor_->exit_code(), 0);
    pids_.clear();
  }

  std::unique_ptr<io::Reactor> reactor_ = io::make_epoll_reactor();
  Options options_;
  std::unique_ptr<Supervisor> supervisor_;
  std::vector<std::string> lines_;
  std::vector<int> pids_;  // that served and may still
};

TEST_F(Supervisors, KeepOneEngineServingUntilTheyAreTold) {
  start("serve");
  ASSERT_TRUE(tells("engine_serves ")) << all();
  EXPECT_FALSE(supervisor_->finished());
  stop();
}

TEST_F(Supervisors, EndWithTheStatusOfAFirstEngineThatCannotStart) {
  start("die");
  ASSERT_TRUE(run_until([&] { return supervisor_->finished(); }));
  EXPECT_EQ(supervisor_->exit_code(), 3);
}

TEST_F(Supervisors, GiveUpAFirstEngineThatDoesNotServeInTime) {
  options_.start_limit = 300ms;
  start("mute");
  ASSERT_TRUE(run_until([&] { return supervisor_->finished(); })) << all();
  EXPECT_EQ(supervisor_->exit_code(), 1);
  EXPECT_EQ(told("engine_too_slow "), 1U);
}

TEST_F(Supervisors, F42_ReplaceAnEngineThatCrashes) {
  start("serve");
  ASSERT_TRUE(tells("engine_serves "));
  ASSERT_EQ(::kill(std::exchange(pids_.back(), 0), SIGKILL), 0);
  pids_.clear();
  ASSERT_TRUE(tells("engine_serves ", 2)) << all();
  EXPECT_EQ(told("engine_crashed "), 1U);
  EXPECT_EQ(told("engine_held_back "), 0U);
  stop();
}

TEST_F(Supervisors, F42_HoldBackEnginesThatCrashInARow) {
  options_.crashes = 2;
  start("serve");
  for (std::size_t i = 1; i <= 3; ++i) {
    ASSERT_TRUE(tells("engine_serves ", i)) << all();
    ASSERT_EQ(::kill(pids_.back(), SIGKILL), 0);
    pids_.clear();
    ASSERT_TRUE(tells("engine_crashed ", i)) << all();
    EXPECT_EQ(told("engine_held_back "), i == 3 ? 1U : 0U) << all();
  }
  ASSERT_TRUE(tells("engine_serves ", 4)) << all();
  stop();
}

TEST_F(Supervisors, F42_AHupEndsThePause) {
  options_.crashes = 0;
  options_.crash_window = 1h;
  start("serve");
  for (std::size_t i = 1; i <= 5; ++i) {
    ASSERT_TRUE(tells("engine_serves ", i)) << all();
    ASSERT_EQ(::kill(pids_.back(), SIGKILL), 0);
    pids_.clear();
    ASSERT_TRUE(tells("engine_held_back ", i)) << all();
    supervisor_->on_signal(SIGHUP);
  }
  ASSERT_TRUE(tells("engine_serves ", 6)) << all();
  stop();
}

TEST_F(Supervisors, F42_AbortALoopThatStandsStill) {
  start("stall");
  ASSERT_TRUE(tells("engine_crashed ")) << all();
  EXPECT_EQ(told("engine_stands_still pid=" + std::to_string(pids_.front())), 1U) << all();
  EXPECT_EQ(
      told("engine_crashed pid=" + std::to_string(pids_.front()) + " how=was killed by signal 6"),
      1U)
      << all();
  ASSERT_TRUE(tells("engine_serves ", 2));
  pids_.erase(pids_.begin());
  stop();
}

// The engine outlives its supervisor, and the next one finds it under its address.
TEST_F(Supervisors, F43_TakeOverAnEngineThatLostItsSupervisor) {
  const auto at = *io::local_address(*io::listen_tcp(base::Address::loopback(0)));
  start("serve", at);
  ASSERT_TRUE(tells("engine_serves ")) << all();
  const int orphan = pids_.front();
  supervisor_.reset();
  // It needs a moment to see that; until then the address is in use.
  ASSERT_TRUE(run_until([&] {
    if (supervisor_ == nullptr || supervisor_->finished()) start("serve", at);
    reactor_->run_turn(io::steady_now() + 20ms);
    return told("engine_serves ") >= 2;
  })) << all();
  EXPECT_EQ(told("engine_found pid=" + std::to_string(orphan)), 1U) << all();
  ASSERT_TRUE(tells("engine_drained pid=" + std::to_string(orphan))) << all();
  stop();
}

TEST_F(Supervisors, F48_TellWhyANewEngineDidNotStart) {
  const auto at = *io::local_address(*io::listen_tcp(base::Address::loopback(0)));
  start("serve", at);
  ASSERT_TRUE(tells("engine_serves ")) << all();
  supervisor_.reset();
  ASSERT_TRUE(run_until([&] {
    if (supervisor_ == nullptr || supervisor_->finished()) start("refuse", at);
    reactor_->run_turn(io::steady_now() + 20ms);
    return told("upgrade_failed ") >= 1;
  })) << all();
  EXPECT_EQ(told("upgrade_failed reason=the new engine exited with status 1: s.yaml:6:1: no "
                 "\\x1b[1mxxx"),
            1U)
      << all();
  EXPECT_LT(lines_.back().size(), 1200U) << "bounded";
  stop();
}

TEST_F(Supervisors, F43_NeverGiveTheLeaseToTwo) {
  const auto at = *io::local_address(*io::listen_tcp(base::Address::loopback(0)));
  options_.lease_limit = 300ms;
  start("keep", at);
  ASSERT_TRUE(tells("engine_serves ")) << all();
  const int orphan = pids_.front();
  supervisor_.reset();
  ASSERT_TRUE(run_until([&] {
    if (supervisor_ == nullptr || supervisor_->finished()) start("serve", at);
    reactor_->run_turn(io::steady_now() + 20ms);
    return told("engine_too_slow ") >= 1;
  })) << all();
  ASSERT_TRUE(tells("upgrade_failed ")) << all();
  EXPECT_EQ(told("engine_serves "), 1U) << "the first keeps the lease, so no other may serve";
  EXPECT_EQ(::kill(orphan, 0), 0);
  stop();
}

}  // namespace
}  // namespace steelyard::supervise
