#include "test/rigs/lib/balancer.h"

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <sstream>

namespace steelyard::rigs {
namespace {

// The port after the last colon of the first word behind `mark`; 0: not there.
std::uint16_t port_behind(const std::string& line, std::string_view mark) {
  const auto at = line.find(mark);
  if (at == std::string::npos) return 0;
  const auto word = line.substr(at + mark.size(), line.find(' ', at) - at - mark.size());
  return static_cast<std::uint16_t>(std::atoi(word.c_str() + word.rfind(':') + 1));
}

std::size_t count(const std::string& text, std::string_view what) {
  std::size_t out = 0;
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++out;
  return out;
}

}  // namespace

Balancer::Balancer(std::string config, BalancerOptions options) {
  write_text(file(), config);
  auto arguments = options.before;
  arguments.insert(arguments.end(), {options.binary, "run", file()});
  arguments.insert(arguments.end(), options.arguments.begin(), options.arguments.end());
  process_ =
      std::make_unique<Process>(arguments, SpawnOptions{.output = dir_ / "log",
                                                        .files = options.files,
                                                        .cgroup_procs = options.cgroup_procs});
  (void)wait_until(
      [&] {
        ports_.clear();
        std::istringstream lines(log());
        for (std::string line; std::getline(lines, line) && !lines.eof();) {
          if (const auto port = port_behind(line, "listening address=")) ports_.push_back(port);
          if (const auto port = port_behind(line, "admin url=http://")) admin_port_ = port;
        }
        return up() || !process_->running();
      },
      std::chrono::seconds(20));
}

bool Balancer::reload(const std::string& config) {
  const auto taken = [&] { return count(log(), " reloaded "); };
  const auto refused = [&] { return count(log(), " reload_refused "); };
  const auto before = taken(), refused_before = refused();
  replace_text(file(), config);
  process_->signal(SIGHUP);
  (void)wait_until([&] { return taken() > before || refused() > refused_before; },
                   std::chrono::seconds(10));
  return taken() > before;
}

nlohmann::json Balancer::api(const std::string& path) const {
  const auto answer = ask_get(admin_port_, path, std::chrono::seconds(2));
  if (!answer.whole) return nullptr;
  auto out = nlohmann::json::parse(answer.body, nullptr, /*allow_exceptions=*/false);
  return out.is_discarded() ? nlohmann::json() : out;
}

double Balancer::metric(const std::string& name) const {
  std::istringstream lines(ask_get(admin_port_, "/metrics").body);
  double sum = -1;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(name) || line.size() == name.size()) continue;
    const char next = line[name.size()];
    if (next != ' ' && next != '{' && next != ',' && name.back() != '{' && name.back() != '"') {
      continue;
    }
    sum = std::max(sum, 0.0) + std::strtod(line.c_str() + line.rfind(' '), nullptr);
  }
  return sum;
}

int Balancer::stop(std::chrono::milliseconds most) {
  process_->signal(SIGTERM);
  return process_->wait(most);
}

std::string binary_beside() {
  const auto self = std::filesystem::canonical("/proc/self/exe");
  return (self.parent_path().parent_path() / "steelyard").string();
}

std::string rig_beside(const std::string& name) {
  return (std::filesystem::canonical("/proc/self/exe").parent_path() / name).string();
}

}  // namespace steelyard::rigs
