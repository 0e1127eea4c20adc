// The fault suite: the real program with four nodes under a steady ledger load, one fault at a
// time.
//
//   faults [F1 F2 … | all] [--third N] [--io epoll|uring] [--json FILE] [--keep FOLDER]
//          [--binary PATH] [--quiet S]
//   faults --list
//
// One line a fault: pass or FAIL, recovery, outcomes beside 200, what was violated. Exit status 0
// when all passed. --third N runs the third that number N falls on; --io chooses the back end of
// all runs; --keep keeps each run's history, log and the times of its fault. As root it runs in a
// network namespace of its own, where nftables can drop and lose; otherwise relays stand in, and it
// says so.
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "test/paths.h"
#include "test/rigs/faults/faults.h"
#include "test/rigs/lib/args.h"

namespace steelyard::rigs {
namespace {

std::vector<Fault> all_faults() {
  std::vector<Fault> out;
  for (const auto part : {node_faults(), client_faults(), network_faults(), process_faults()}) {
    out.insert(out.end(), part.begin(), part.end());
  }
  std::sort(out.begin(), out.end(), [](const Fault& a, const Fault& b) {
    const auto place = [](const Fault& one) {  // those without a number last
      return *one.name == 'F' ? std::atoi(one.name + 1) : 1000;
    };
    return place(a) < place(b);
  });
  return out;
}

void enter_own_net(Context& context) {
  if (::unshare(CLONE_NEWNET) != 0) {
    context.net_why = std::string("no network namespace (") + std::strerror(errno) + ")";
    return;
  }
  if (run_program({"ip", "link", "set", "lo", "up"}) != 0) {
    std::fprintf(stderr, "faults: cannot set up the loopback of a network namespace: needs ip\n");
    std::exit(2);
  }
  context.own_net = run_program({"nft", "add", "table", "inet", "rig"}) == 0;
  if (!context.own_net) context.net_why = "no nftables";
}

void raise_limits() {
  rlimit limit{};
  (void)::getrlimit(RLIMIT_NOFILE, &limit);
  constexpr rlim_t kWanted = 65536;  // 10,000 clients of the program take two each, and more
  if (limit.rlim_max < kWanted) {
    const rlimit more{kWanted, kWanted};
    if (::setrlimit(RLIMIT_NOFILE, &more) == 0) return;  // as root
  }
  limit.rlim_cur = limit.rlim_max;
  (void)::setrlimit(RLIMIT_NOFILE, &limit);
}

std::string outcomes_of(const Report& report) {
  std::string out;
  for (const auto& [name, count] : report.verdict.outcomes) {
    if (name == "GET 200" || name == "POST 200") continue;
    out += " " + name + "×" + std::to_string(count);
  }
  return out.empty() ? " none" : out;
}

void print(const Report& report) {
  std::size_t all = 0;
  for (const auto& [name, count] : report.verdict.outcomes) all += count;
  std::string recovery = "-";
  if (report.verdict.recovery_s) {
    char text[20];
    (void)std::snprintf(text, sizeof text, "%.1f s", *report.verdict.recovery_s);
    recovery = text;
  }
  std::printf("%s %-4s %-48s recovery %-6s requests %zu errors%s  ledger %s  (%.0f s)\n",
              report.pass() ? "pass" : "FAIL", report.fault.c_str(), report.what.c_str(),
              recovery.c_str(), all, outcomes_of(report).c_str(),
              report.verdict.good()
                  ? "clean"
                  : (std::to_string(report.verdict.count) + " violations").c_str(),
              report.seconds);
  for (const auto& text : report.notes) std::printf("       note: %s\n", text.c_str());
  std::size_t shown = 0;
  for (const auto& text : report.failures) {
    if (++shown > 6) break;
    std::printf("       %s\n", text.c_str());
  }
  if (report.failures.size() > 6) {
    std::printf("       and %zu more\n", report.failures.size() - 6);
  }
  (void)std::fflush(stdout);
}

nlohmann::json json_of(const Report& report) {
  nlohmann::json out{{"fault", report.fault},
                     {"what", report.what},
                     {"pass", report.pass()},
                     {"failures", report.failures},
                     {"notes", report.notes},
                     {"outcomes", report.verdict.outcomes},
                     {"ledger_violations", report.verdict.count},
                     {"seconds", report.seconds},
                     {"recovery_seconds", nullptr}};
  if (report.verdict.recovery_s) out["recovery_seconds"] = *report.verdict.recovery_s;
  return out;
}

bool wanted(const Fault& fault, const std::vector<std::string>& names) {
  return names.empty() || std::find(names.begin(), names.end(), "all") != names.end() ||
         std::find(names.begin(), names.end(), fault.name) != names.end();
}

int run(Args& args) {
  auto faults = all_faults();
  if (args.has("list")) {
    for (const auto& fault : faults) std::printf("%-4s %s\n", fault.name, fault.what);
    return 0;
  }
  for (const auto& name : args.words()) {
    if (name == "all" || std::any_of(faults.begin(), faults.end(),
                                     [&](const Fault& one) { return name == one.name; })) {
      continue;
    }
    std::fprintf(stderr, "faults: no fault \"%s\"; --list names them\n", name.c_str());
    return 2;
  }
  std::erase_if(faults, [&](const Fault& one) { return !wanted(one, args.words()); });
  if (args.has("third")) {
    const int third = args.whole("third", 0) % 3;
    std::vector<Fault> some;
    for (std::size_t i = static_cast<std::size_t>(third); i < faults.size(); i += 3) {
      some.push_back(faults[i]);
    }
    faults = some;
  }
  Context context{.balancer = {.binary = args.text("binary", binary_beside())},
                  .ledger = rig_beside("ledger"),
                  .cases = args.text("cases", test::source_path("test/http/http_cases.jsonl"))};
  context.quiet_s = args.number("quiet", context.quiet_s);
  context.keep = args.text("keep");
  const auto file = args.text("json");
  if (args.has("io")) context.balancer.arguments = {"--io", args.text("io")};
  if (!args.all_known()) return 2;
  raise_limits();
  enter_own_net(context);
  if (!context.own_net) std::printf("note: %s; relays stand in for it\n", context.net_why.c_str());
  std::size_t failed = 0;
  auto all = nlohmann::json::array();
  for (const auto& fault : faults) {
    const auto report = fault.run(context, fault);
    failed += !report.pass();
    print(report);
    all.push_back(json_of(report));
  }
  std::printf("%zu of %zu faults survived\n", faults.size() - failed, faults.size());
  if (!file.empty()) std::ofstream(file) << all.dump(1) << '\n';
  return failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace steelyard::rigs

int main(int argc, char** argv) {
  (void)::signal(SIGPIPE, SIG_IGN);
  steelyard::rigs::Args args(argc, argv, {"list"});
  return steelyard::rigs::run(args);
}
