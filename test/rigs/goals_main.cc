// The measurable goals of HTTP/1: one line each, with the figures and their marks.
//
//   goals [L3 L4 L5 L6 L7 L10] [--io auto|epoll|uring] [--binary PATH] [--json FILE]
//         [--rounds 7] [--idle 60] [--requests 6000000]
//
// Verdicts: pass, FAIL, void (others used the processors, so the figure says nothing). Exit status
// 1 when a goal was missed; a void one misses nothing.
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <future>
#include <sys/resource.h>

#include "test/rigs/goals/goals.h"
#include "test/rigs/lib/args.h"
#include "test/rigs/lib/balancer.h"

namespace steelyard::rigs {
namespace {

struct Named {
  const char* id;
  Goal (*run)(const Settings&);
};
constexpr Named kGoals[] = {{"L3", added_latency}, {"L4", new_connections},
                            {"L5", idle_clients},  {"L6", large_bodies},
                            {"L7", overload},      {"L10", no_wrong_answer}};

int run(Args& args) {
  Settings settings{.binary = args.text("binary", binary_beside()),
                    .rounds = args.whole("rounds", 7),
                    .idle_s = args.number("idle", 60),
                    .requests = static_cast<std::uint64_t>(args.number("requests", 6e6))};
  if (args.has("io")) settings.io = {"--io", args.text("io")};
  const auto file = args.text("json");
  if (!args.all_known()) return 2;
  for (const auto& word : args.words()) {
    if (std::any_of(std::begin(kGoals), std::end(kGoals),
                    [&](const Named& one) { return one.id == word; })) {
      continue;
    }
    std::fprintf(stderr, "goals: no goal \"%s\"; there are L3 L4 L5 L6 L7 L10\n", word.c_str());
    return 2;
  }
  auto all = nlohmann::json::array();
  bool missed = false;
  for (const auto& one : kGoals) {
    const auto& words = args.words();
    if (!words.empty() && std::find(words.begin(), words.end(), one.id) == words.end()) continue;
    // On a thread of its own, whose processor and priority end with it.
    const auto goal = std::async(std::launch::async, one.run, settings).get();
    std::printf("%s\n", goal.line().c_str());
    (void)std::fflush(stdout);
    missed = missed || goal.verdict() == "FAIL";
    all.push_back(goal.json());
  }
  if (!file.empty() && !write_text(file, all.dump(2) + "\n")) {
    std::fprintf(stderr, "goals: cannot write %s\n", file.c_str());
    return 2;
  }
  return missed ? 1 : 0;
}

}  // namespace
}  // namespace steelyard::rigs

int main(int argc, char** argv) {
  (void)::signal(SIGPIPE, SIG_IGN);
  rlimit limit{};
  (void)::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  (void)::setrlimit(RLIMIT_NOFILE, &limit);
  steelyard::rigs::Args args(argc, argv);
  return steelyard::rigs::run(args);
}
