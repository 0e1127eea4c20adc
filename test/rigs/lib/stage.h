// One run under a fault: nodes as processes, the program in front of them, a steady ledger load and
// a sampler of states and weights. A run is `steady` – `fault_begins` – … – `fault_ends` –
// `finish`, with what has to hold beside the ledger's rules said by `expect`.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "test/rigs/lib/balancer.h"
#include "test/rigs/lib/judge.h"
#include "test/rigs/lib/ledger_client.h"
#include "test/rigs/lib/tcp_fault.h"

namespace steelyard::rigs {

struct Context {
  BalancerOptions balancer;
  std::string ledger;     // the program `ledger`
  std::string cases;      // http_cases.jsonl
  bool own_net = false;   // we run in a network namespace of our own, as root
  std::string net_why;    // why not
  double steady_s = 2.5;  // before the fault
  double quiet_s = 3;     // what counts as recovered
  std::string keep;       // folder for the history and log of each run; empty: not kept
};

struct Report {
  std::string fault, what;
  std::vector<std::string> failures, notes;
  Verdict verdict;
  double seconds = 0;
  [[nodiscard]] bool pass() const { return failures.empty(); }
};

// `ledger node` as a process; starts again on the same port.
class NodeProcess {
 public:
  NodeProcess(const Context& context, std::string name, std::string folder, std::string netns = {},
              std::string host = "127.0.0.1");
  bool start();
  void kill();  // -9, and waits
  void signal(int number) const { process_->signal(number); }
  void control(const std::string& lines) const;  // see ledger_node.h
  [[nodiscard]] bool running() { return process_->running(); }
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] Endpoint at() const { return {host_, port_}; }
  [[nodiscard]] std::string log() const { return folder_ + "/" + name_ + ".ledger"; }

 private:
  const Context& context_;
  std::string name_, folder_, netns_, host_;
  std::uint16_t port_ = 0;
  std::unique_ptr<Process> process_;
};

struct StageOptions {
  double rate = 500;
  std::size_t connections = 128;
  double deadline_s = 8;
  std::size_t nodes = 4;
  std::string route = "timeouts: { connect: 1s, head: 2s, idle: 5s }";
  std::string upstream;  // further lines of the upstream, four blanks deep
  std::string health =
      "{ passive: { consecutive_failures: 3 }, cooldown: 2s, cooldown_max: 2s, slow_start: 1s }";
  std::string top;  // further top-level lines
  std::string listen = "127.0.0.1:0";
  std::string admin = "address: \"127.0.0.1:0\"";
  std::set<std::size_t> relayed;  // nodes that are reached through a TcpFault
  struct Far {
    std::string host, netns;
  };
  std::map<std::size_t, Far> far;  // nodes in another network namespace
  double large = 0.02;
  double post = 0.25;
  unsigned long files = 0;
  std::string cgroup_procs;
  std::vector<std::string> arguments;
  bool front = false;  // clients come through a relay as well: relay_of(kFront)
};
inline constexpr std::size_t kFront = 99;

class Stage {
 public:
  Stage(Context& context, std::string fault, std::string what, StageOptions options);
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;
  ~Stage();

  // Nodes, balancer, load; then the quiet time before the fault. False, with a failure noted, when
  // something does not come up.
  bool steady();
  void fault_begins() { rules.fault_from = now_us(); }
  void fault_ends() { rules.fault_to = now_us(); }
  // Waits for `more_s` and the quiet time after it, ends load and sampler, reads the ledgers,
  // judges.
  void settle(double more_s = 2);
  Report finish();

  void expect(bool so, const std::string& text);
  void note(const std::string& text) { report_.notes.push_back(text); }
  // Rule (g) with a bound.
  void expect_recovery(double most_s);
  // After `settle`: requests that ended otherwise than 200, by what is asked; only those that began
  // from `from` on.
  [[nodiscard]] std::size_t errors(bool post, const std::string& name = {}, Micros from = 0) const;
  [[nodiscard]] std::size_t errors() const { return errors(false) + errors(true); }
  // Seconds from `from` to the first sample in which the node is as said (is not, with `!`).
  [[nodiscard]] double until_state(const std::string& node, const std::string& state,
                                   Micros from) const;
  // Part of the answers between two moments that came from a node; quantile of the durations in ms.
  [[nodiscard]] double part_of(const std::string& node, Micros from, Micros to) const;
  [[nodiscard]] double quantile_ms(double q, Micros from, Micros to) const;

  [[nodiscard]] NodeProcess& node(std::size_t i) { return *nodes_.at(i); }
  [[nodiscard]] Balancer& balancer() { return *balancer_; }
  [[nodiscard]] LedgerClient& client() { return *client_; }
  [[nodiscard]] Loop& loop() { return loop_; }  // of the load and the relays
  [[nodiscard]] const History& history() const { return history_; }
  [[nodiscard]] const std::string& config() const { return config_; }
  [[nodiscard]] StageOptions& options() { return options_; }
  // Of the balancer when it served and nothing had been asked.
  [[nodiscard]] const Usage& usage_at_start() const { return at_start_; }
  [[nodiscard]] Context& context() { return context_; }
  [[nodiscard]] TempDir& dir() { return dir_; }
  // Plan of the relay in front of a node.
  void relay(std::size_t node, const std::string& plan, bool also_open, bool reset = false);
  // What needs the loop of load and relays, on its thread, and waits for it.
  void on_loop(const std::function<void()>& what);
  [[nodiscard]] TcpFault& relay_of(std::size_t node) { return *relays_.at(node); }
  void restart_balancer();  // for faults that kill it: the config's ports must be fixed then
  [[nodiscard]] std::string node_list() const;
  [[nodiscard]] std::string config_text(const std::string& upstream_more = {}) const;

  Rules rules;

 private:
  void sample();
  void start_load();
  void stop_load();

  Context& context_;
  StageOptions options_;
  Report report_;
  TempDir dir_;
  std::string config_;
  Usage at_start_;
  std::vector<std::unique_ptr<NodeProcess>> nodes_;
  std::unique_ptr<Balancer> balancer_;
  Loop loop_;
  std::map<std::size_t, std::unique_ptr<TcpFault>> relays_;
  std::unique_ptr<LedgerClient> client_;
  std::thread load_, sampler_;
  std::atomic<bool> sampling_{false};
  std::mutex mutex_;
  History history_;
  Time began_ = Clock::now();
  Micros load_from_ = 0;
  std::atomic<bool> settled_{false};
};

}  // namespace steelyard::rigs
