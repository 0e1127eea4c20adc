// What is measured and what may disturb it: the proxies on a processor of their own, who else used
// the processors, and how to be first in line.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "test/rigs/goals/goals.h"
#include "test/rigs/goals/node.h"
#include "test/rigs/lib/balancer.h"

namespace steelyard::rigs {

inline constexpr int kProxyCpu = 0, kFarCpu = 1;

// The part of one processor that others used since, from the kernel's ticks: so not below a second.
class Watch {
 public:
  explicit Watch(std::vector<pid_t> ours);
  [[nodiscard]] double others() const;

 private:
  struct Reading {
    double busy, own;
    Time at;
  };
  [[nodiscard]] Reading read() const;
  std::vector<pid_t> ours_;
  Reading from_;
};

// As root: before whatever else the machine does, as long as it lives; children inherit it.
class Ahead {
 public:
  Ahead();
  Ahead(const Ahead&) = delete;
  Ahead& operator=(const Ahead&) = delete;
  ~Ahead();

 private:
  std::string group_;
  int nice_ = 0;
};

// Steelyard with one worker on kProxyCpu before these nodes; `more`: further lines of the upstream
// (four blanks deep) and of the file.
struct OursOptions {
  std::string upstream, top;
  int workers = 1;
  bool pinned = true;
};
[[nodiscard]] std::unique_ptr<Balancer> start_ours(const Settings& settings,
                                                   const std::vector<std::uint16_t>& nodes,
                                                   const OursOptions& options = {});

// HAProxy, set up as in the proxy benchmark.
class Haproxy {
 public:
  explicit Haproxy(const std::vector<std::uint16_t>& nodes);
  [[nodiscard]] bool up() const { return up_; }
  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] pid_t pid() const { return process_->pid(); }

 private:
  TempDir dir_;
  std::uint16_t port_;
  std::unique_ptr<Process> process_;
  bool up_ = false;
};

[[nodiscard]] double median(std::vector<double> values);  // NaN: of none

}  // namespace steelyard::rigs
