// L3 and L4: beside HAProxy, in rounds of one run each, in changing order. Steelyard and HAProxy
// each have one worker on one processor; clients and nodes share the other.
#include <algorithm>
#include <cmath>
#include <sstream>

#include "test/rigs/goals/field.h"
#include "test/rigs/lib/open_load.h"

namespace steelyard::rigs {
namespace {

double us(const base::Histogram& histogram, double q) {
  const auto value = histogram.quantile(q);
  return value ? static_cast<double>(value->count()) / 1e3 : std::nan("");
}

struct Field {
  explicit Field(const Settings& settings) {
    ours = start_ours(settings, ports());
    haproxy = std::make_unique<Haproxy>(ports());
    pin_this_thread(kFarCpu);
    exact_timers();
  }
  [[nodiscard]] std::vector<std::uint16_t> ports() const {
    std::vector<std::uint16_t> out;
    for (const auto& node : nodes) out.push_back(node->port());
    return out;
  }
  [[nodiscard]] std::string broken() const {
    if (ours == nullptr) return "steelyard did not start";
    return haproxy->up() ? "" : "HAProxy did not start";
  }
  [[nodiscard]] std::vector<pid_t> pids() const { return {ours->process().pid(), haproxy->pid()}; }

  Ahead ahead;
  std::vector<std::unique_ptr<QuickNode>> nodes = [] {
    std::vector<std::unique_ptr<QuickNode>> out;
    for (int i = 0; i < 3; ++i)
      out.push_back(std::make_unique<QuickNode>(NodeOptions{.cpu = kFarCpu}));
    return out;
  }();
  std::unique_ptr<Balancer> ours;
  std::unique_ptr<Haproxy> haproxy;
};

// Requests a second when more are due than can be answered.
double peak_of(std::uint16_t port, bool close) {
  OpenLoad load({.to = {"127.0.0.1", port}, .rate = 60'000, .connections = 64, .close = close});
  if (!load.open()) return 0;
  (void)load.run(0.3, 0.2);
  const auto result = load.run(1, 0);
  return static_cast<double>(result.good) / result.seconds;
}

struct Run {
  OpenLoadResult result;
  double cpu_us = 0;  // of the proxy, a request
  double others = 0;
};

Run run_one(const Field& field, std::uint16_t port, pid_t pid, double rate, bool close) {
  Run out;
  OpenLoad load({.to = {"127.0.0.1", port}, .rate = rate, .connections = 256, .close = close});
  if (!load.open()) return out;
  (void)load.run(0.3, 0.2);
  const Watch watch(field.pids());
  const double before = pid > 0 ? usage_of(pid).cpu_s : 0;
  out.result = load.run(1.2, 0.3);
  const double used = pid > 0 ? usage_of(pid).cpu_s - before : 0;
  out.others = watch.others();
  out.cpu_us = used * 1e6 / static_cast<double>(std::max<std::uint64_t>(out.result.good, 1));
  return out;
}

// Of the rounds in which others left the processors alone; of all when there are fewer than three.
template <typename Round>
std::pair<std::vector<Round>, double> quiet_ones(const std::vector<Round>& rounds) {
  std::vector<Round> quiet;
  std::vector<double> others;
  for (const auto& round : rounds) {
    if (round.others <= Goal::kMostOthers) quiet.push_back(round);
    others.push_back(round.others);
  }
  if (quiet.size() >= 3) return {quiet, 0.0};
  return {rounds, median(others)};
}

template <typename Round>
bool enough(const std::vector<Round>& rounds, int wanted) {
  const auto quiet = std::count_if(rounds.begin(), rounds.end(), [](const Round& one) {
    return one.others <= Goal::kMostOthers;
  });
  return quiet >= wanted || static_cast<int>(rounds.size()) >= 3 * wanted;
}

template <typename Round, typename Value>
double median_of(const std::vector<Round>& rounds, Value value) {
  std::vector<double> all;
  for (const auto& round : rounds) all.push_back(value(round));
  return median(std::move(all));
}

std::string text_of(const char* before, double value, const char* after) {
  std::ostringstream out;
  out.precision(value < 100 ? 3 : 6);
  out << before << value << after;
  return out.str();
}

}  // namespace

Goal added_latency(const Settings& settings) {
  Goal goal("L3", "latency added at half of the peak");
  Field field(settings);
  if (const auto why = field.broken(); !why.empty()) {
    goal.broken(why);
    return goal;
  }
  const auto our_port = field.ours->port(), its_port = field.haproxy->port();
  const double peak = std::min(peak_of(our_port, false), peak_of(its_port, false));
  const double rate = peak / 2;
  struct Round {
    double p50, p99, ratio, others;
  };
  std::vector<Round> rounds;
  while (!enough(rounds, settings.rounds)) {
    Run direct, ours, its;
    const auto run = [&](int which) {
      if (which == 0) direct = run_one(field, field.nodes[0]->port(), 0, rate, false);
      if (which == 1) ours = run_one(field, our_port, field.pids()[0], rate, false);
      if (which == 2) its = run_one(field, its_port, field.pids()[1], rate, false);
    };
    for (std::size_t i = 0; i < 3; ++i) run(static_cast<int>((rounds.size() + i) % 3));
    const auto& a = ours.result.latency;
    const auto& b = its.result.latency;
    if (ours.result.good == 0 || its.result.good == 0 || direct.result.good == 0 ||
        ours.result.bad > 0) {
      goal.broken("a run without answers, or with wrong ones");
      return goal;
    }
    rounds.push_back({us(a, 0.5) - us(direct.result.latency, 0.5),
                      us(a, 0.99) - us(direct.result.latency, 0.99),
                      std::max(us(a, 0.5) / us(b, 0.5), us(a, 0.99) / us(b, 0.99)),
                      std::max({direct.others, ours.others, its.others})});
  }
  const auto [used, others] = quiet_ones(rounds);
  goal.others(others);
  goal.at_most("p50", median_of(used, [](const Round& r) { return r.p50; }), 60, " µs",
               Goal::Needs::kQuiet);
  goal.at_most("p99", median_of(used, [](const Round& r) { return r.p99; }), 500, " µs",
               Goal::Needs::kQuiet);
  goal.at_most("of HAProxy's, the worse of p50 and p99",
               median_of(used, [](const Round& r) { return r.ratio; }), 1.2, "×",
               Goal::Needs::kQuiet);
  goal.note(text_of("", rate, " requests/s"));
  goal.note(std::to_string(used.size()) + " rounds");
  return goal;
}

namespace {

// SYNs that the kernel refused or dropped because a queue of ours was full: the whole machine's.
double refused_syns() {
  std::istringstream lines(read_text("/proc/net/netstat"));
  std::string names, values;
  while (std::getline(lines, names) && std::getline(lines, values)) {
    if (!names.starts_with("TcpExt:")) continue;
    std::istringstream a(names), b(values);
    std::string name, value;
    double sum = 0;
    while (a >> name && b >> value) {
      if (name == "ListenOverflows" || name == "TCPReqQFullDrop" ||
          name == "TCPReqQFullDoCookies") {
        sum += std::strtod(value.c_str(), nullptr);
      }
    }
    return sum;
  }
  return 0;
}

}  // namespace

Goal new_connections(const Settings& settings) {
  Goal goal("L4", "new connections");
  Field field(settings);
  if (const auto why = field.broken(); !why.empty()) {
    goal.broken(why);
    return goal;
  }
  const auto our_port = field.ours->port(), its_port = field.haproxy->port();
  const double our_peak = peak_of(our_port, true), its_peak = peak_of(its_port, true);
  const double rate = std::min(our_peak, its_peak) * 0.6;
  struct Round {
    double ratio, ours, its, others;
  };
  std::vector<Round> rounds;
  while (!enough(rounds, settings.rounds)) {
    Run ours, its;
    const auto run = [&](bool own) {
      if (own) ours = run_one(field, our_port, field.pids()[0], rate, true);
      if (!own) its = run_one(field, its_port, field.pids()[1], rate, true);
    };
    run(rounds.size() % 2 == 0);
    run(rounds.size() % 2 != 0);
    rounds.push_back(
        {ours.cpu_us / its.cpu_us, ours.cpu_us, its.cpu_us, std::max(ours.others, its.others)});
  }
  const double before = refused_syns();
  OpenLoad load(
      {.to = {"127.0.0.1", our_port}, .rate = our_peak, .connections = 1000, .close = true});
  (void)load.open();
  const auto full = load.run(10, 2);
  const double refused = refused_syns() - before;
  const auto [used, others] = quiet_ones(rounds);
  goal.others(others);
  goal.at_most("CPU, of HAProxy's", median_of(used, [](const Round& r) { return r.ratio; }), 0.95,
               "×", Goal::Needs::kQuiet);
  goal.at_most("failed connects in 10 s at the peak",
               static_cast<double>(full.connect_failures + full.bad), 0, "");
  goal.at_most("refused SYNs", refused, 0, "");
  goal.note(text_of("", median_of(used, [](const Round& r) { return r.ours; }), " µs") +
            text_of(" beside ", median_of(used, [](const Round& r) { return r.its; }), " µs") +
            text_of(" at ", rate, "/s"));
  goal.note(text_of("peak ", our_peak, "/s") + text_of(" beside ", its_peak, "/s") +
            text_of(", then ", static_cast<double>(full.good) / full.seconds, "/s for 10 s"));
  return goal;
}

}  // namespace steelyard::rigs
