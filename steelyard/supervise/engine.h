// Engine: one engine process as its supervisor sees it. One thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "steelyard/base/time.h"
#include "steelyard/io/channel.h"
#include "steelyard/io/own_process.h"
#include "steelyard/io/process_status.h"
#include "steelyard/io/reactor.h"
#include "steelyard/io/shared_memory.h"

namespace steelyard::supervise {

struct Engine final : io::WatchEvents {
  enum class Phase : std::uint8_t {
    kStarting,  // until it serves
    kServing,   // with the lease, or about to hand over
    kDraining,  // another serves in its place
  };
  class Owner {
   public:
    virtual void on_engine(Engine& engine) noexcept = 0;  // a message, or its end

   protected:
    ~Owner() = default;
  };

  Engine(io::Reactor& reactor, Owner& to, io::OwnProcess its_process, io::Channel its_channel,
         io::Heartbeat its_heartbeat)
      : owner(to),
        process(std::move(its_process)),
        channel(std::move(its_channel)),
        heartbeat(std::move(its_heartbeat)),
        since(reactor.now()),
        end_watch(reactor.watch(process.pidfd(), *this)),
        channel_watch(reactor.watch(channel.fd(), *this)) {}
  void on_ready() noexcept override { owner.on_engine(*this); }

  Owner& owner;
  io::OwnProcess process;
  io::Channel channel;
  io::Heartbeat heartbeat;
  io::PulseWatch pulses;
  Phase phase = Phase::kStarting;
  bool wants_lease = false;
  base::TimePoint since;         // of the phase
  base::TimePoint asked_back{};  // for the lease, which it has not given yet; zero: not asked
  base::TimePoint aborted{};     // zero: not
  std::uint64_t generation = 1;
  std::string why;                     // it ends: as it said, or as was seen; empty: not known
  std::int64_t draining_since = 0;     // Unix time
  std::optional<io::Holding> holding;  // while it drains, as it said
  std::unique_ptr<io::Watch> end_watch;
  std::unique_ptr<io::Watch> channel_watch;
};

}  // namespace steelyard::supervise
