// The program under test as a child process, and what its admin API says.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "test/rigs/lib/process.h"

namespace steelyard::rigs {

struct BalancerOptions {
  std::string binary;
  std::vector<std::string> arguments;  // after `run FILE`
  std::vector<std::string> before;     // a command that runs it: taskset -c 0
  unsigned long files = 0;
  std::string cgroup_procs;
};

class Balancer {
 public:
  // Starts at once and waits until it serves, at most 20 s.
  Balancer(std::string config, BalancerOptions options);
  [[nodiscard]] bool up() const { return admin_port_ != 0 && !ports_.empty(); }
  [[nodiscard]] std::uint16_t port(std::size_t listener = 0) const { return ports_.at(listener); }
  [[nodiscard]] std::uint16_t admin_port() const { return admin_port_; }
  [[nodiscard]] std::string log() const { return read_text(dir_ / "log"); }
  [[nodiscard]] std::string file() const { return dir_ / "steelyard.yaml"; }
  [[nodiscard]] Process& process() { return *process_; }
  [[nodiscard]] Usage usage() const { return usage_of(process_->pid()); }

  // Sends HUP and waits for the outcome in the log: taken or not.
  [[nodiscard]] bool reload(const std::string& config);
  [[nodiscard]] nlohmann::json api(const std::string& path) const;  // null: no answer
  // The sum over the lines of /metrics whose name (and labels) begin with `name`; -1: none.
  [[nodiscard]] double metric(const std::string& name) const;
  // TERM, and its exit status; -1 when it does not end within `most`.
  int stop(std::chrono::milliseconds most = std::chrono::seconds(40));

 private:
  TempDir dir_;
  std::unique_ptr<Process> process_;
  std::vector<std::uint16_t> ports_;
  std::uint16_t admin_port_ = 0;
};

// `build/…/steelyard` beside the rig that runs: BUILD/rigs/NAME → BUILD/steelyard.
[[nodiscard]] std::string binary_beside();
[[nodiscard]] std::string rig_beside(const std::string& name);

}  // namespace steelyard::rigs
