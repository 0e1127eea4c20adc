// The two back ends for tests of the control side: real loopback sockets, and the simulated one
// with virtual time.
#pragma once

#include <functional>
#include <gtest/gtest.h>
#include <memory>

#include "steelyard/io/epoll.h"
#include "steelyard/io/reactor.h"
#include "steelyard/io/sim.h"
#include "steelyard/io/socket.h"

namespace steelyard::wire::testing {

enum class Backend { kEpoll, kSim };

class Net {
 public:
  explicit Net(Backend backend, std::uint64_t seed = 1) {
    if (backend == Backend::kEpoll) {
      reactor_ = io::make_epoll_reactor();
    } else {
      auto sim = io::make_sim_reactor({.seed = seed});
      sim_ = sim.get();
      reactor_ = std::move(sim);
    }
  }
  [[nodiscard]] io::Reactor& reactor() { return *reactor_; }
  [[nodiscard]] io::SimReactor* sim() { return sim_; }

  // A listening socket on loopback, on a port of the system's choice.
  [[nodiscard]] io::Fd listen(base::Address& address) {
    if (sim_ != nullptr) {
      io::Fd fd = sim_->listener(base::Address::loopback(0));
      address = sim_->address_of(fd);
      return fd;
    }
    auto fd = io::listen_tcp(base::Address::loopback(0));
    EXPECT_TRUE(fd);
    address = *io::local_address(*fd);
    return std::move(*fd);
  }
  // An address where nobody listens.
  [[nodiscard]] base::Address nobody() {
    base::Address address;
    const io::Fd gone = listen(address);
    return address;
  }
  // Turns until `over` holds; false when it did not within `limit` of the reactor's time.
  bool run(const std::function<bool()>& over, base::Duration limit = std::chrono::seconds(20)) {
    const base::TimePoint until = reactor_->now() + limit;
    while (!over()) {
      if (reactor_->now() >= until) return false;
      reactor_->run_turn(std::min(until, reactor_->now() + std::chrono::milliseconds(100)));
    }
    return true;
  }
  void run_for(base::Duration time) {
    const base::TimePoint until = reactor_->now() + time;
    while (reactor_->now() < until) reactor_->run_turn(until);
  }

 private:
  std::unique_ptr<io::Reactor> reactor_;
  io::SimReactor* sim_ = nullptr;
};

inline std::string name_of(const ::testing::TestParamInfo<Backend>& info) {
  return info.param == Backend::kEpoll ? "Epoll" : "Simulated";
}

}  // namespace steelyard::wire::testing
