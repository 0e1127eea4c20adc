// Supervisor: the process that people start. It owns the listening sockets and the state of the
// engines, and sees to it that one engine serves.
//
// It parses no traffic and no configuration: an engine asks for addresses, workers and pid file
// over its channel. An engine that crashes is started again at once (connections wait in the
// sockets' queues meanwhile) with the configuration that the one before had kept, and with growing
// pauses after `crashes` in `crash_window`; what it had started and did not live to see end is
// killed. A loop that
// stands still for `stall` is told to say its stack and is aborted. USR2: the program at `program`
// is asked whether it understands us, takes this process over by exec with all descriptors, and
// starts a new engine; the old one gives the lease back first and drains when the new one serves;
// if that fails the old one goes on. One engine at a time has the lease: nobody else ticks.
//
// An engine whose supervisor was killed waits to be found under its addresses and its pid file; a
// supervisor that wants one of them takes everything over, as in an upgrade.
//
// Threads: one. Nothing here waits for an engine.
#pragma once

#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "steelyard/base/result.h"
#include "steelyard/base/time.h"
#include "steelyard/io/child.h"
#include "steelyard/io/listener_set.h"
#include "steelyard/io/provider.h"
#include "steelyard/io/reactor.h"
#include "steelyard/supervise/engine.h"

namespace steelyard::supervise {

struct Options {
  std::string program;                        // what an upgrade runs
  std::vector<std::string> engine_arguments;  // of this program: an engine on descriptor 3
  std::vector<std::string> run_arguments;    // of `program`; the descriptor to resume from is added
  std::vector<std::string> check_arguments;  // of `program`: must print `check_answer`
  std::string check_answer;
  base::Duration look = std::chrono::milliseconds(250);  // how often it looks after time limits
  base::Duration stall = std::chrono::seconds(5);
  base::Duration start_limit = std::chrono::seconds(30);
  base::Duration lease_limit = std::chrono::seconds(10);
  base::Duration crash_window = std::chrono::seconds(60);
  std::size_t crashes = 5;
  base::Duration longest_pause = std::chrono::seconds(30);
  std::size_t draining = 3;  // engines at most; the oldest is then told to stop at once
};

class Supervisor final : Engine::Owner, io::TimerEvents {
 public:
  using Fields = std::initializer_list<std::pair<std::string_view, std::string_view>>;
  class Events {
   public:
    virtual void on_event(std::string_view what, Fields fields) noexcept = 0;

   protected:
    ~Events() = default;
  };

  Supervisor(io::Reactor& reactor, Options options, Events& events);
  ~Supervisor();

  [[nodiscard]] base::Result<void> start();
  // After an exec: with what the former program of this process left in `handover`.
  [[nodiscard]] base::Result<void> resume(io::Fd handover);
  void on_signal(int number);
  [[nodiscard]] bool finished() const noexcept { return finished_; }
  [[nodiscard]] int exit_code() const noexcept { return exit_code_; }

 private:
  void on_engine(Engine& engine) noexcept override;
  void on_time() noexcept override;
  void handle(Engine& from, io::Message& message);
  void listen(Engine& from, const io::Message& message);
  void claim(Engine& from, const std::string& path);
  void keep(Engine& from, const io::Message& message);
  [[nodiscard]] bool adopt(Engine& by, std::string_view name);
  void give_lease();
  void serves(Engine& engine);
  void gone(Engine& engine, const io::Ending& how);
  void crashed(const io::Ending& how, std::string_view why = {});
  void upgrade_failed(std::string_view reason);
  // With the kept configuration, or with the file as at a start.
  void spawn(bool kept);
  void endow(io::Channel& channel, const io::Heartbeat& heartbeat, bool kept);
  void kill_helpers();
  [[nodiscard]] std::string_view what_goes_on() const noexcept;
  void look_after(Engine& engine, base::TimePoint now);
  void stop(int number);
  void check_program();
  void replace_program();
  void reap_strangers();
  [[nodiscard]] std::string handover(std::vector<int>& fds) const;
  [[nodiscard]] base::Result<void> take_handover(const std::string& text);
  [[nodiscard]] Engine* in(Engine::Phase phase) const noexcept;
  void add(io::OwnProcess process, io::Channel channel, io::Heartbeat heartbeat);
  void tell(Engine& engine, io::Message message);
  void tell_status();
  [[nodiscard]] io::Message memory_of(const io::Heartbeat& heartbeat) const;
  [[nodiscard]] io::ProcessStatus status_for(std::uint64_t generation) const;

  io::Reactor& reactor_;
  Options options_;
  Events& events_;
  io::ListenerSet sockets_;
  std::unique_ptr<io::StateMemory> state_;
  std::unique_ptr<io::StateMemory> config_;  // what the last engine took, in words of its own
  std::vector<std::unique_ptr<Engine>> engines_;
  Engine* holder_ = nullptr;  // of the lease
  std::unique_ptr<io::Child> check_;
  std::unique_ptr<io::Timer> timer_;
  io::ProcessStatus status_;
  unsigned workers_ = 0;  // 0: no engine has said it yet
  std::string pid_file_;
  std::vector<base::Address> kept_;    // configured, as the engine in charge said
  std::vector<base::Address> coming_;  // of a list that is not whole yet
  std::vector<base::TimePoint> crash_times_;
  base::TimePoint restart_at_ = base::TimePoint::max();
  base::TimePoint helpers_until_{};  // until then helpers of a dead engine are looked for
  int helpers_of_ = 0;
  std::vector<int> strangers_;  // children that this process had from the start
  bool served_ = false;         // an engine has, ever
  bool stopping_ = false;
  bool finished_ = false;
  int exit_code_ = 0;
};

}  // namespace steelyard::supervise
