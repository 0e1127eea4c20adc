// A lane: one Nginx, driven. Runs the machine's actions on the reactor.
//
// Looks and samples are read at once; writes, which wait for the disk, run on a thread of their own
// and come back by post; commands are child processes with a clean environment, never a shell. The
// test command is killed at its time-out, a reload command is not. Destroying a lane waits for a
// write under way (one fsync), kills a command under way, and changes nothing.
//
// Threads: control. Borrows reactor and events.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "steelyard/apply/nginx/machine.h"
#include "steelyard/apply/nginx/store.h"
#include "steelyard/apply/options.h"
#include "steelyard/io/child.h"
#include "steelyard/io/reactor.h"
#include "steelyard/io/thread.h"

namespace steelyard::apply::nginx {

// What all upstreams of one Nginx must agree on.
[[nodiscard]] bool same_lane(const NginxOptions& a, const NginxOptions& b) noexcept;
[[nodiscard]] MachineOptions machine_options(const NginxOptions& options) noexcept;

class Lane final : public io::TimerEvents {
 public:
  // `tuned`: the machine's options where a test wants others than machine_options() gives.
  Lane(io::Reactor& reactor, const NginxOptions& options, Events& events,
       std::optional<MachineOptions> tuned = {});
  ~Lane();
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  void add(const std::string& upstream, const NginxOptions& options);
  void retire(const std::string& file);
  void leave(const std::string& file);
  void want(const std::string& file, std::string text, std::uint64_t table, bool fallback);
  void resume(const std::string& file);

  [[nodiscard]] const Machine& machine() const noexcept { return machine_; }
  [[nodiscard]] const NginxOptions& options() const noexcept { return options_; }
  // Upstream of a file of this lane, also of one that is being retired.
  [[nodiscard]] const std::map<std::string, std::string>& upstreams() const noexcept {
    return upstreams_;
  }

 private:
  void on_time() noexcept override { pump(); }
  void soon() { timer_->at(reactor_.now()); }
  void pump();
  void perform(const Action& action);
  void write(const Action& action);
  void run(Do what, const std::vector<std::string>& arguments, base::Duration deadline);
  void finish(Do what, Outcome outcome);
  void tell();

  io::Reactor& reactor_;
  NginxOptions options_;
  Events& events_;
  Machine machine_;
  Store store_;
  std::map<std::string, std::string> upstreams_;  // by file
  std::unique_ptr<io::Timer> timer_;
  std::unique_ptr<io::Child> test_;
  std::unique_ptr<io::Child> reload_;
  std::shared_ptr<Lane*> self_;       // lets a posted result find that the lane is gone
  std::optional<io::Thread> writer_;  // last: joined first
};

}  // namespace steelyard::apply::nginx
