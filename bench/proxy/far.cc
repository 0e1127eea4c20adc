// The far side of the proxy benchmark: the clients and the nodes, in one loop on one processor, so
// cheap that the proxy between them is what limits.
//
//   far [PORTS]        listens on PORTS (3) loopback ports for the nodes and prints {"nodes":[...]}
//
// Then a command a line on standard input, an answer of one line of JSON each:
//
//   run port=P [watch=PID] [cpu=0] [connections=64] [seconds=1] [path=/64] [expect=64] [post=BYTES]
//       [close=1] [rate=R] [requests=N] [fields=FILE] [sleep=1]
//                      a load (load.h); what the process tree of PID used meanwhile. Counted
//                      between 0.2 s, in which connections open, and the end; with `requests` from
//                      the first one to the last
//   hold port=P connections=N      opens N connections, asks once on each, keeps them
//   release                        closes them
//   price                          nanoseconds of a system call that does nothing
//
// During a run it spins: proxies never pay for waking it. `sleep=1` makes it sleep instead.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <sstream>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>
#include <vector>

#include "load.h"
#include "nodes.h"
#include "ring.h"
#include "usage.h"

namespace {

constexpr long long kSecond = 1000000000;
constexpr long long kOpening = kSecond / 5;
constexpr long long kLastAnswers = kSecond;

long long now_ns() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * kSecond + time.tv_nsec;
}

using Words = std::map<std::string, std::string>;

class Far {
 public:
  bool open(int ports) {
    if (!ring_.open()) return false;
    nodes_ = std::make_unique<bench::Nodes>(ring_);
    std::string list;
    for (int i = 0; i < ports; ++i) {
      const int port = nodes_->listen();
      if (port == 0) return false;
      list += (i > 0 ? "," : "") + std::to_string(port);
    }
    say("{\"nodes\":[" + list + "]}");
    read_commands();
    return true;
  }

  void run() {
    while (!over_) {
      ring_.sleep(kSecond / 10);
      complete(now_ns());
    }
  }

 private:
  static void say(const std::string& line) {
    std::printf("%s\n", line.c_str());
    std::fflush(stdout);
  }

  void read_commands() {
    auto* const sqe = ring_.entry({bench::Kind::kCommand});
    io_uring_prep_read(sqe, 0, input_.data(), static_cast<unsigned>(input_.size()), 0);
    ring_.name(sqe);
  }

  unsigned complete(long long now) {
    std::string commands;
    const auto count = ring_.each([&](const io_uring_cqe& cqe) {
      const auto tag = bench::Tag::of(cqe.user_data);
      switch (tag.kind) {
        case bench::Kind::kAccept:
          return nodes_->on_accept(cqe, static_cast<int>(tag.index));
        case bench::Kind::kNode:
          return nodes_->on_bytes(cqe, tag);
        case bench::Kind::kNodeSend:
          return nodes_->on_send_failed(tag);
        case bench::Kind::kNodeRoom:
          return nodes_->on_room(tag);
        case bench::Kind::kLoad:
          if (load_ != nullptr) return load_->on_bytes(cqe, tag, now);
          return ring_.give_back(tag.group, cqe);
        case bench::Kind::kLoadSend:
          if (load_ != nullptr) load_->on_send_failed(tag);
          return;
        case bench::Kind::kCommand:
          if (cqe.res <= 0) {
            over_ = true;
          } else {
            commands.assign(input_.data(), static_cast<std::size_t>(cqe.res));
          }
          return;
        case bench::Kind::kForget:
          return;
      }
    });
    if (!commands.empty()) {
      obey(commands);
      read_commands();
    }
    return count;
  }

  void obey(const std::string& text) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      std::istringstream words(line);
      std::string command, word;
      words >> command;
      Words args;
      while (words >> word) {
        const auto at = word.find('=');
        if (at != std::string::npos) args[word.substr(0, at)] = word.substr(at + 1);
      }
      if (command == "run") {
        measure(args);
      } else if (command == "hold") {
        hold(args);
      } else if (command == "release") {
        load_->close_all();
        load_.reset();
        say("{}");
      } else if (command == "price") {
        price();
      } else {
        say("{\"error\":\"unknown command\"}");
      }
    }
  }

  static double number(const Words& args, const std::string& key, double otherwise) {
    const auto at = args.find(key);
    return at == args.end() ? otherwise : std::strtod(at->second.c_str(), nullptr);
  }

  static bench::Plan plan_of(const Words& args) {
    bench::Plan plan;
    plan.port = static_cast<int>(number(args, "port", 0));
    plan.connections = static_cast<unsigned>(number(args, "connections", 64));
    plan.expect = static_cast<std::size_t>(number(args, "expect", 64));
    plan.post = static_cast<std::size_t>(number(args, "post", 0));
    plan.close = number(args, "close", 0) != 0;
    plan.rate = number(args, "rate", 0);
    plan.most = static_cast<std::uint64_t>(number(args, "requests", 0));
    if (args.contains("path")) plan.path = args.at("path");
    if (args.contains("fields")) {
      std::ifstream file(args.at("fields"), std::ios::binary);
      plan.fields.assign(std::istreambuf_iterator<char>(file), {});
    }
    return plan;
  }

  bool begin(const bench::Plan& plan) {
    nodes_->expect_bodies(plan.post);
    load_ = std::make_unique<bench::Load>(ring_, plan);
    if (load_->open(now_ns())) return true;
    say("{\"error\":\"cannot connect\"}");
    load_.reset();
    return false;
  }

  // Turns until `until`, or the load has what it wanted.
  template <typename Done>
  void turn(long long until, Done done) {
    for (auto now = now_ns(); now < until && !done(); turned_ = now) {
      load_->advance(now);
      if (sleeps_) {
        ring_.sleep(kSecond / 10000);
      } else {
        ring_.poll();
      }
      now = now_ns();
      const bool idle = complete(now) == 0;
      if (idle) idle_ += now - turned_;
    }
  }

  void measure(const Words& args) {
    const auto plan = plan_of(args);
    sleeps_ = number(args, "sleep", 0) != 0;
    const int watch = static_cast<int>(number(args, "watch", 0));
    const int cpu = static_cast<int>(number(args, "cpu", 0));
    if (!begin(plan)) return;
    turned_ = now_ns();
    const auto done = [this] { return load_->done() || !load_->connected(); };
    if (plan.most == 0) turn(now_ns() + kOpening, done);
    const auto tree = watch > 0 ? bench::tree_of(watch) : std::vector<int>{};
    load_->start_counting();
    const auto errors = load_->errors;
    idle_ = 0;
    const auto before = bench::usage_of(tree);
    const auto cpu_before = bench::usage_of_cpu(cpu);
    const auto from = turned_ = now_ns();
    turn(from + static_cast<long long>(number(args, "seconds", 1) * 1e9), done);
    const auto after = bench::usage_of(tree);
    const auto cpu_after = bench::usage_of_cpu(cpu);
    const auto took = static_cast<double>(now_ns() - from);
    const auto counted = static_cast<double>(load_->counted());
    load_->stop();
    turn(now_ns() + kLastAnswers, [this] { return load_->quiet() || !load_->connected(); });
    load_->close_all();
    report(plan, before, after, took, counted,
           (cpu_after.busy_ticks - cpu_before.busy_ticks) /
               std::max(1.0, cpu_after.all_ticks - cpu_before.all_ticks),
           load_->errors - errors);
    load_.reset();
  }

  void report(const bench::Plan& plan, const bench::TreeUsage& before,
              const bench::TreeUsage& after, double took, double counted, double cpu_busy,
              std::uint64_t errors) {
    const double used = after.on_cpu_us - before.on_cpu_us;
    const double user = after.user_ticks - before.user_ticks;
    const double system = after.system_ticks - before.system_ticks;
    const double user_share = user + system > 0 ? user / (user + system) : 0;
    const double busy = used * 1e3 / took;
    const double each = counted > 0 ? used / counted : 0;
    char line[768];
    std::snprintf(
        line, sizeof line,
        "{\"requests\":%.0f,\"answers\":%llu,\"rps\":%.0f,\"offered\":%.0f,\"errors\":%llu,"
        "\"cpu_us\":%.3f,\"user_us\":%.3f,\"system_us\":%.3f,\"busy\":%.4f,\"foreign\":%.4f,"
        "\"far_busy\":%.4f,\"p50_us\":%.1f,\"p99_us\":%.1f}",
        counted, static_cast<unsigned long long>(load_->finished), counted / took * 1e9, plan.rate,
        static_cast<unsigned long long>(errors), each, each * user_share, each * (1 - user_share),
        busy, std::max(0.0, cpu_busy - busy), 1 - static_cast<double>(idle_) / took,
        load_->latency.quantile(0.5), load_->latency.quantile(0.99));
    say(line);
  }

  void hold(const Words& args) {
    auto plan = plan_of(args);
    plan.most = plan.connections;
    plan.together = 16;  // memory for many requests at once is not what idle connections cost
    if (!begin(plan)) return;
    turn(now_ns() + 20 * kSecond, [this] { return load_->done(); });
    say("{\"held\":" + std::to_string(load_->finished) +
        ",\"errors\":" + std::to_string(load_->errors) + "}");
  }

  static void price() {
    constexpr int kCalls = 200000;
    const auto from = now_ns();
    for (int i = 0; i < kCalls; ++i) (void)::getppid();
    say("{\"getppid_ns\":" + std::to_string((now_ns() - from) / kCalls) + "}");
  }

  bench::Ring ring_;
  std::unique_ptr<bench::Nodes> nodes_;
  std::unique_ptr<bench::Load> load_;
  std::array<char, 4096> input_{};
  bool over_ = false;
  bool sleeps_ = false;
  long long turned_ = 0;
  long long idle_ = 0;  // time in turns that found nothing
};

}  // namespace

int main(int argc, char** argv) {
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
  ::prctl(PR_SET_TIMERSLACK, 1UL);
  const auto far = std::make_unique<Far>();
  if (!far->open(argc > 1 ? std::atoi(argv[1]) : 3)) {
    std::perror("far");
    return 1;
  }
  far->run();
}
