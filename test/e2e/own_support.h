// The real program as child processes: a balancer under a configuration file of the test's own, the
// demo nodes, and a steady load of keep-alive clients. What the admin API says comes as plain
// values.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "test/e2e/support.h"
#include "test/paths.h"

namespace steelyard::e2e {

// What /api/v1/upstreams says of a node.
struct NodeState {
  std::string name;
  std::string address;
  std::string state;  // usable, trial, out, draining
  std::string reason;
  double base = 0, weight = 0, ramp = 0, share_wanted = 0;
  std::uint64_t attempts = 0;
  std::optional<double> override_weight;
  std::string override_by;
};

struct DecisionLine {
  std::string at, upstream, node, change, reason;
};

// `steelyard run FILE`: starts at once and waits until it serves.
class Balancer {
 public:
  // `text` is the configuration file, `more` are further arguments.
  explicit Balancer(const std::string& text, const std::vector<std::string>& more = {},
                    const std::string& binary = test::binary());
  Balancer(const Balancer&) = delete;
  Balancer& operator=(const Balancer&) = delete;
  ~Balancer();  // fails the test when a sanitizer has complained in the log

  [[nodiscard]] bool up() const noexcept { return admin_port_ != 0; }
  [[nodiscard]] std::uint16_t port(std::size_t listener = 0) const { return ports_.at(listener); }
  [[nodiscard]] std::uint16_t admin_port() const noexcept { return admin_port_; }
  [[nodiscard]] std::string file() const { return dir_ / "steelyard.yaml"; }
  [[nodiscard]] std::string log() const { return read_text(dir_ / "log"); }
  [[nodiscard]] Process& process() { return *process_; }
  // The engine that serves, by the last line of the log that says so; waits for the first.
  [[nodiscard]] pid_t engine() const;
  // How often the log has said so.
  [[nodiscard]] std::size_t said(const std::string& what) const;
  [[nodiscard]] bool says(const std::string& what, std::size_t times = 1,
                          std::chrono::milliseconds most = std::chrono::seconds(10)) const {
    return wait_until([&] { return said(what) >= times; }, most);
  }

  void write(const std::string& text) const;  // the configuration file, by rename
  // Sends HUP and waits until the log tells the outcome: true when it was taken.
  [[nodiscard]] bool reload();
  [[nodiscard]] bool reload(const std::string& text) {
    write(text);
    return reload();
  }

  [[nodiscard]] Response get(const std::string& path) const;
  [[nodiscard]] std::vector<NodeState> nodes(const std::string& upstream = "api") const;
  [[nodiscard]] NodeState node(const std::string& name, const std::string& upstream = "api") const;
  [[nodiscard]] std::vector<DecisionLine> decisions(const std::string& query = "") const;
  // The value of one line of /metrics, named with its labels; nothing when there is no such line.
  [[nodiscard]] std::optional<double> metric(const std::string& name) const;
  // POST /api/adjust-weight with kKey; `more` are further JSON members, with a leading comma.
  [[nodiscard]] Response adjust(const std::string& node, double weight,
                                const std::string& more = "") const;
  // Waits until the node is as asked.
  [[nodiscard]] bool node_becomes(const std::string& name,
                                  const std::function<bool(const NodeState&)>& as,
                                  std::chrono::milliseconds most) const;

 private:
  TempDir dir_;
  std::unique_ptr<Process> process_;
  std::vector<std::uint16_t> ports_;
  std::uint16_t admin_port_ = 0;
};

// The key that `admin_keys` puts into a configuration.
inline constexpr std::string_view kKey = "sy_e2e-key-0123456789";
// "admin: { address: 127.0.0.1:0, keys: [...] }" as a line of the configuration.
[[nodiscard]] std::string admin_section(const std::string& more = "");

struct Listed {
  std::string name;
  std::uint16_t port;
  std::optional<double> weight = std::nullopt;
};
// "    nodes: […]\n" with every node's name, address and weight.
[[nodiscard]] std::string nodes_line(const std::vector<Listed>& nodes);
// A whole configuration: one listener, one upstream "api"; `upstream` are further lines of it (four
// blanks deep), `top` further top-level lines.
[[nodiscard]] std::string config(const std::vector<Listed>& nodes, const std::string& upstream = "",
                                 const std::string& top = "");

// `steelyard node`.
class NodeProcess {
 public:
  explicit NodeProcess(std::string name, std::vector<std::string> more = {});
  [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] bool start();  // again on the same port after `kill`
  void kill();                 // kill -9, and wait for the end
  [[nodiscard]] Response control(const std::string& json) const;
  [[nodiscard]] Process& process() { return *process_; }
  [[nodiscard]] std::string log() const { return read_text(dir_ / "log"); }

 private:
  TempDir dir_;
  std::string name_;
  std::vector<std::string> more_;
  std::uint16_t port_ = 0;
  std::unique_ptr<Process> process_;
};

// Keep-alive clients on threads of their own, which together send `rate` GETs a second; 0: as fast
// as answers come.
class Load {
 public:
  struct Totals {
    std::uint64_t good = 0;     // 200
    std::uint64_t failed = 0;   // another status, or no answer on a connection that was made
    std::uint64_t refused = 0;  // connects
    std::uint64_t resent = 0;   // a kept connection was closed unanswered, so it was sent once more
    std::uint64_t connects = 0;
    std::string first_failure;
  };
  Load(std::uint16_t port, unsigned clients, double rate);
  Load(const Load&) = delete;
  Load& operator=(const Load&) = delete;
  ~Load() { (void)stop(); }
  // Clients end at the first refused connection: for balancers that are told to stop.
  void end_when_refused() noexcept { end_when_refused_ = true; }
  [[nodiscard]] bool wait_for(std::uint64_t more_good,
                              std::chrono::milliseconds most = std::chrono::seconds(20)) const;
  [[nodiscard]] std::uint64_t good() const noexcept { return good_; }
  Totals stop();
  Totals join();  // without a stop: until every client was refused

 private:
  void run(unsigned index);
  std::uint16_t port_;
  std::chrono::duration<double> gap_;
  std::atomic<bool> stop_{false};
  std::atomic<bool> end_when_refused_{false};
  std::atomic<std::uint64_t> good_{0};
  mutable std::mutex mutex_;
  Totals totals_;
  std::vector<std::thread> threads_;
};

// Sends `requests` GETs over `connections` connections, one after the other in turn; answers by
// body.
[[nodiscard]] std::map<std::string, int> spread(std::uint16_t port, int requests, int connections);

}  // namespace steelyard::e2e
