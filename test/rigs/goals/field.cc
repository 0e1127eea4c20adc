#include "test/rigs/goals/field.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <sys/resource.h>
#include <unistd.h>

#include "test/rigs/lib/net.h"

namespace steelyard::rigs {
namespace {

constexpr const char* kAutogroup = "/proc/self/autogroup";

std::vector<std::string> on_cpu(int cpu, std::vector<std::string> command) {
  std::vector<std::string> out{"taskset", "-c", std::to_string(cpu)};
  out.insert(out.end(), command.begin(), command.end());
  return out;
}

}  // namespace

Watch::Watch(std::vector<pid_t> ours) : ours_(std::move(ours)), from_(read()) {}

Watch::Reading Watch::read() const {
  Reading out{0, 0, Clock::now()};
  std::istringstream line(read_text("/proc/stat"));
  std::string name;
  line >> name;
  for (int i = 0; i < 8; ++i) {  // user nice system idle iowait irq softirq steal
    double ticks = 0;
    line >> ticks;
    if (i != 3 && i != 4) out.busy += ticks;
  }
  out.busy /= static_cast<double>(::sysconf(_SC_CLK_TCK));
  rusage self{};
  (void)::getrusage(RUSAGE_SELF, &self);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  out.own = seconds(self.ru_utime) + seconds(self.ru_stime);
  for (const pid_t pid : ours_) out.own += usage_of(pid).cpu_s;
  return out;
}

double Watch::others() const {
  const auto now = read();
  const double span = std::chrono::duration<double>(now.at - from_.at).count();
  return std::max(0.0, (now.busy - from_.busy) - (now.own - from_.own)) / span;
}

Ahead::Ahead() {
  nice_ = ::getpriority(PRIO_PROCESS, 0);
  if (::geteuid() != 0) return;
  std::istringstream words(read_text(kAutogroup));
  std::string word;
  while (words >> word) group_ = word;
  write_text(kAutogroup, "-20");
  (void)::setpriority(PRIO_PROCESS, 0, -20);
}

Ahead::~Ahead() {
  (void)::setpriority(PRIO_PROCESS, 0, nice_);
  if (!group_.empty()) write_text(kAutogroup, group_);
}

std::unique_ptr<Balancer> start_ours(const Settings& settings,
                                     const std::vector<std::uint16_t>& nodes,
                                     const OursOptions& options) {
  std::string config = "workers: " + std::to_string(options.workers) +
                       "\nlisteners:\n  - address: \"127.0.0.1:0\"\n    routes: [{ upstream: api }]"
                       "\nupstreams:\n  api:\n    nodes:\n";
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    config += "      - { name: n" + std::to_string(i + 1) +
              ", address: \"127.0.0.1:" + std::to_string(nodes[i]) + "\" }\n";
  }
  config += options.upstream + options.top +
            "drain: { limit: 5s, idle: 100ms }\nadmin: { address: \"127.0.0.1:0\" }\n";
  BalancerOptions how{.binary = settings.binary, .arguments = settings.io};
  if (options.pinned) how.before = on_cpu(kProxyCpu, {});
  auto out = std::make_unique<Balancer>(config, how);
  return out->up() ? std::move(out) : nullptr;
}

Haproxy::Haproxy(const std::vector<std::uint16_t>& nodes) : port_(free_port()) {
  // Buffers of 32 KiB, so that a body of 16 KiB and its head need one read.
  std::string config =
      "global\n  nbthread 1\n  maxconn 9000\n  tune.maxaccept 64\n  tune.bufsize 32768\n"
      "defaults\n  mode http\n  maxconn 9000\n  timeout connect 5s\n  timeout client 300s\n"
      "  timeout server 300s\n  timeout http-keep-alive 300s\n  timeout http-request 60s\n"
      "  option http-keep-alive\n  option forwardfor\n  http-reuse always\n"
      "frontend clients\n  bind 127.0.0.1:" +
      std::to_string(port_) +
      " backlog 4096\n  default_backend nodes\nbackend nodes\n  balance roundrobin\n";
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    config += "  server n" + std::to_string(i + 1) + " 127.0.0.1:" + std::to_string(nodes[i]) +
              " pool-purge-delay 300s pool-max-conn 512\n";
  }
  const auto file = dir_ / "haproxy.cfg";
  write_text(file, config);
  process_ = std::make_unique<Process>(on_cpu(kProxyCpu, {"/usr/sbin/haproxy", "-db", "-f", file}),
                                       SpawnOptions{.output = dir_ / "out"});
  up_ = wait_until([&] { return ask_get(port_, "/64").status == 200; }, std::chrono::seconds(15));
}

double median(std::vector<double> values) {
  if (values.empty()) return std::nan("");
  std::sort(values.begin(), values.end());
  const auto middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

}  // namespace steelyard::rigs
