// RemoteProvider: the engine's end of its channel to the supervisor.
//
// What the supervisor had when it started this engine (memory, sockets) lay in the channel before
// that, so that an engine can come up even when its supervisor ends meanwhile. Questions wait for
// their answer, at most 10 s (`lease`: 60 s); what the supervisor tells meanwhile is kept for
// `next`. When the supervisor is gone without a word the provider goes on with the sockets it was
// given, which it keeps copies of; new addresses are refused. It then lets itself be found by a new
// supervisor under the names of its addresses and of its pid file; once found it hands everything
// over, and `lost` is false again.
//
// The lease comes by message and is held as a LeaseLock too. Without a supervisor the lock decides:
// the engine that serves takes it at once when it is free, one that is about to serve takes it
// after a moment. Control thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "steelyard/io/channel.h"
#include "steelyard/io/lease_lock.h"
#include "steelyard/io/listener_set.h"
#include "steelyard/io/provider.h"
#include "steelyard/io/reactor.h"

namespace steelyard::io {

class RemoteProvider final : public Provider, private WatchEvents {
 public:
  // Takes what the supervisor gave this engine to begin with. The reactor is woken by messages.
  [[nodiscard]] static base::Result<std::unique_ptr<RemoteProvider>> connect(Reactor& reactor,
                                                                             Fd channel);
  ~RemoteProvider() override;

  base::Result<Fd> listener(const base::Address& address, unsigned worker) override;
  void keep_only(std::span<const base::Address> configured) override;
  void let_go();  // of the sockets: another engine has them
  unsigned workers(unsigned wanted) override;
  base::Result<void> claim_pid_file(const std::string& path) override;
  [[nodiscard]] std::string state() const override { return state_->read(); }
  void put_state(std::string_view blob) override { (void)state_->write(blob); }
  [[nodiscard]] std::string kept_config() const override { return config_->read(); }
  void keep_config(std::string_view record) override { (void)config_->write(record); }
  base::Result<void> lease() override;
  void ready() override;
  Heartbeat::Pulse* pulse(unsigned loop) noexcept override { return &heartbeat_->pulse(loop); }
  [[nodiscard]] ProcessStatus status() const override;

  // The next thing the supervisor has told: kSignal, kLease, kGiveBack or kHandOver.
  [[nodiscard]] std::optional<Message> next();
  // This engine takes the place of one that crashed: the kept configuration is the one to run.
  [[nodiscard]] bool replaces_dead() const noexcept { return replaces_dead_; }
  void gave_back();
  // Why this engine ends before it serves: for the supervisor's events and API.
  void not_started(std::string_view why);
  void tell_holding(const Holding& holding);
  // The lease's lock; false: another engine holds it.
  [[nodiscard]] bool take_lease() noexcept { return lock_.take(); }
  // Another engine was the last to say that it serves.
  [[nodiscard]] bool another_serves() const noexcept;
  [[nodiscard]] bool lost() const noexcept { return lost_; }
  // To be called once it is lost: claims the pid file for this process, so that `-s` reaches it,
  // and waits to be found. Names what is in the way of either, empty: nothing.
  [[nodiscard]] std::string let_be_found();

 private:
  static constexpr auto kPatience = std::chrono::seconds(10);

  RemoteProvider(Reactor& reactor, Channel channel);
  [[nodiscard]] base::Error channel_lost() const;
  [[nodiscard]] base::Result<Message> ask(const Message& question, Verb answer,
                                          base::Duration wait = kPatience);
  [[nodiscard]] base::Result<void> take(Message& memory);
  void on_ready() noexcept override;
  void take_messages();
  void greet(Channel caller);

  Reactor& reactor_;
  Channel channel_;
  std::unique_ptr<StateMemory> state_;
  std::unique_ptr<StateMemory> config_;
  LeaseLock lock_;
  std::unique_ptr<Heartbeat> heartbeat_;
  ListenerSet sockets_;  // copies
  std::vector<Message> inbox_;
  std::vector<Fd> doors_;
  std::vector<std::unique_ptr<Watch>> watches_;
  std::unique_ptr<Watch> watch_;
  ProcessStatus status_;
  std::string pid_file_;
  unsigned workers_ = 0;
  bool replaces_dead_ = false;
  bool lost_ = false;
};

}  // namespace steelyard::io
