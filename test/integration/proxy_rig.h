// A whole data plane in the test's process: workers on threads with reactors of the kernel, a
// Publisher, listeners on loopback. The test is control: it makes the Tables.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "steelyard/io/socket.h"
#include "steelyard/io/thread.h"
#include "steelyard/proxy/publisher.h"
#include "steelyard/proxy/worker.h"

namespace steelyard::integration {

struct RigNode {
  std::string name;
  std::uint16_t port = 0;
  double weight = 1;
  model::Eligibility eligibility = model::Eligibility::kUsable;
};

class ProxyRig {
 public:
  struct Setup {
    unsigned workers = 1;
    std::string picker = "least_connections";
    proxy::Options options;
    request::TimeoutOptions timeouts;
    request::RetryOptions retry;
    request::UpstreamRules rules;
    std::uint64_t seed = 1;
    bool muted = false;   // the sockets come from somebody who drained
    bool shared = false;  // … who accepts from them too, and is never awake to do so
  };
  ProxyRig(Setup setup, std::vector<RigNode> nodes);
  ~ProxyRig();

  [[nodiscard]] std::uint16_t port() const { return port_; }
  // A new Table with these nodes: known names keep their slots, the others give theirs back when
  // nobody can hold them.
  std::uint64_t publish(const std::vector<RigNode>& nodes);
  void publish_config();                  // a new Config, the same Table
  bool wait_taken(std::uint64_t record);  // false after 1 s
  void collect();                         // what control does each tick
  void drain();                           // all workers; returns when they are finished
  void close_sockets();                   // after `drain`: the port refuses from now on
  [[nodiscard]] std::uint32_t highest_generation() const;
  [[nodiscard]] bool in_flight_zero();
  template <typename F>
  std::uint64_t sum(F count) const {
    std::uint64_t all = 0;
    for (const auto& worker : workers_) all += count(worker->worker->metrics());
    return all;
  }
  [[nodiscard]] std::uint64_t attempts(const std::string& name);
  [[nodiscard]] std::uint64_t counted_gone() const { return gone_; }
  // Attempts over all nodes that are or were.
  [[nodiscard]] std::uint64_t attempts_ever();
  [[nodiscard]] unsigned urgent() const { return urgent_; }
  [[nodiscard]] proxy::Publisher& publisher() { return *publisher_; }
  model::Slots slots;

 private:
  struct Running : proxy::WorkerEvents {
    explicit Running(ProxyRig& owner) : rig(owner) {}
    void on_urgent(model::NodeRef) noexcept override { ++rig.urgent_; }
    void on_taken(std::uint64_t) noexcept override {}
    void on_listener_stopped(const base::Address&) noexcept override {}
    void on_drained() noexcept override { drained = true; }
    ProxyRig& rig;
    io::Fd socket;
    io::Reactor* reactor = nullptr;  // the thread's own
    std::unique_ptr<proxy::Worker> worker;
    std::atomic<bool> ready{false};
    std::atomic<bool> stop{false};
    std::atomic<bool> let_go{false};  // nobody posts to the reactor any more
    std::atomic<bool> drained{false};
    std::unique_ptr<io::Thread> thread;
  };
  struct Known {
    std::string name;
    model::NodeRef ref;
    bool listed = true;
    std::uint64_t left_at = 0;   // number of the first Table without it
    std::uint64_t baseline = 0;  // attempts that the slot's former owners made
  };
  struct Sleeper final : io::AcceptEvents {
    explicit Sleeper(const io::Fd& socket);
    void on_accept(io::Fd, const base::Address&) noexcept override {}
    void on_stopped() noexcept override {}
    std::unique_ptr<io::Reactor> reactor;
    std::unique_ptr<io::Listener> listener;
  };
  void run(Running& running, unsigned index);
  std::uint64_t slot_attempts(model::NodeRef ref) const;

  Setup setup_;
  std::uint16_t port_ = 0;
  std::vector<Known> known_;
  std::vector<std::unique_ptr<Running>> workers_;
  std::vector<std::unique_ptr<Sleeper>> sleepers_;
  std::unique_ptr<proxy::Publisher> publisher_;
  std::shared_ptr<const proxy::Config> config_;
  std::shared_ptr<const pick::Table> table_;
  std::uint64_t tables_ = 0;
  std::uint64_t configs_ = 0;
  std::uint64_t gone_ = 0;
  std::atomic<unsigned> urgent_{0};
};

}  // namespace steelyard::integration
