// Endurance: a steady load with reloads and, where there is a supervisor, upgrades.
//
//   soak [--minutes 10] [--rate 2000] [--reloads 1000] [--upgrades 50] [--io epoll|uring]
//        [--binary PATH]
//
// First half of the time without upgrades, with half of the reloads: the slope of the memory is
// judged there, since each upgrade begins anew. Then the rest, spread evenly. Passes when
//   - no request failed and the ledger is clean;
//   - memory grows by at most 64 KiB per million requests (least squares over the last two thirds
//     of the first half; told, but not judged, below 300,000 requests in them), and is after all
//     upgrades at most 1 MiB above what it was before the first. Three crowds of requests come
//     first, which the program meets because it is stopped for a second each time. The receive
//     buffers are told apart: 4 MiB a worker with io_uring, mapped once, of which as much is
//     touched as the load of the last seconds needs, so they come and go and cannot grow;
//   - descriptors are, once the pools are empty, what they were before the first request;
//   - the sums over nodes, over the listeners and in the ledger are equal: by what
//     each engine says when it ends, and without upgrades by the metrics too.
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>

#include "test/rigs/lib/args.h"
#include "test/rigs/lib/stage.h"

namespace steelyard::rigs {
namespace {

std::size_t count_of(const std::string& text, std::string_view what) {
  std::size_t out = 0;
  for (auto at = text.find(what); at != text.npos; at = text.find(what, at + 1)) ++out;
  return out;
}

struct Sample {
  double requests, kib;  // without the receive buffers
  double buffers_kib, buffers_most_kib;
};

// KiB per million requests.
double slope_of(const std::vector<Sample>& samples) {
  double n = 0, x = 0, y = 0, xx = 0, xy = 0;
  for (std::size_t i = samples.size() / 3; i < samples.size(); ++i) {
    n += 1;
    x += samples[i].requests;
    y += samples[i].kib;
    xx += samples[i].requests * samples[i].requests;
    xy += samples[i].requests * samples[i].kib;
  }
  const double below = n * xx - x * x;
  return below > 0 ? (n * xy - x * y) / below * 1e6 : 0;
}

void check_counters(Stage& stage, double good) {
  const auto& balancer = stage.balancer();
  // The last answers reach the counters a tick later.
  double nodes = 0, listeners = 0;
  const bool equal = wait_until(
      [&] {
        nodes = 0;
        for (const auto* const name : {"n1", "n2", "n3", "n4"}) {
          nodes += balancer.metric(
              std::string("steelyard_upstream_attempts_total{upstream=\"api\",node=\"") + name +
              "\",result=\"success\"");
        }
        listeners = balancer.metric("steelyard_http_requests_total{code_class=\"2xx\"");
        return nodes == good && listeners == good;
      },
      std::chrono::seconds(2));
  char text[120];
  (void)std::snprintf(text, sizeof text, "ledger %.0f, nodes %.0f, listeners %.0f", good, nodes,
                      listeners);
  stage.note(text);
  stage.expect(equal, std::string("the counters differ: ") + text);
}

// What all engines say that they did; `served requests=… successes=…` is the last line of each.
void check_served(Stage& stage, const std::string& log, std::size_t engines) {
  double requests = 0, successes = 0;
  std::size_t said = 0;
  std::istringstream lines(log);
  for (std::string line; std::getline(lines, line);) {
    if (line.find(" served requests=") == std::string::npos) continue;
    const auto number = [&](const char* name) {
      return std::strtod(line.c_str() + line.find(name) + std::strlen(name), nullptr);
    };
    requests += number("requests=");
    successes += number("successes=");
    ++said;
  }
  const auto good = static_cast<double>(stage.client().totals().good);
  char text[160];
  (void)std::snprintf(text, sizeof text,
                      "%zu engines: ledger %.0f, nodes %.0f, listeners %.0f (by their last words)",
                      said, good, successes, requests);
  stage.note(text);
  stage.expect(said == engines, "an engine ended without a word of what it served");
  stage.expect(requests == good && successes == good, std::string("the counters differ: ") + text);
}

// What pools keep follows the largest crowd of requests that there ever was, and a busy machine
// makes crowds by chance. With one at the start only what grows with their number is seen.
void make_crowds(Stage& stage) {
  for (int i = 0; i < 3; ++i) {
    const auto processes = tree_of(stage.balancer().process().pid());
    for (const pid_t pid : processes) (void)::kill(pid, SIGSTOP);
    pause(1);
    for (const pid_t pid : processes) (void)::kill(pid, SIGCONT);
    pause(1);
  }
}

// One part of the run.
class Endurance {
 public:
  Endurance(Stage& stage, bool supervised) : stage_(stage), supervised_(supervised) {}

  void run(double seconds, int reloads, int upgrades) {
    samples_.clear();
    auto& process = stage_.balancer().process();
    int reloaded = 0, upgraded = 0;
    const auto began = Clock::now();
    for (;;) {
      const double at = std::chrono::duration<double>(Clock::now() - began).count() / seconds;
      if (at >= 1) break;
      if (reloaded < static_cast<int>(at * reloads)) {
        // Another configuration each time, as long as the last one was taken in time.
        replace_text(stage_.balancer().file(),
                     stage_.config_text(++reloads_ % 2 == 0 ? "    queue: { size: 64 }\n"
                                                            : "    queue: { size: 65 }\n"));
      }
      while (reloaded < static_cast<int>(at * reloads)) {
        process.signal(SIGHUP);
        ++reloaded;
      }
      if (supervised_ && upgraded < static_cast<int>(at * upgrades)) {
        process.signal(SIGUSR2);
        ++upgraded;
      }
      const auto usage = stage_.balancer().usage();
      samples_.push_back({static_cast<double>(stage_.client().totals().good),
                          static_cast<double>(usage.private_kib - usage.buffers_kib),
                          static_cast<double>(usage.buffers_kib),
                          static_cast<double>(usage.buffers_most_kib)});
      pause(std::min(0.25, seconds / 100));
    }
    upgrades_ += upgraded;
  }
  [[nodiscard]] const std::vector<Sample>& samples() const { return samples_; }
  [[nodiscard]] int reloads() const { return reloads_; }
  [[nodiscard]] int upgrades() const { return upgrades_; }

 private:
  Stage& stage_;
  bool supervised_;
  std::vector<Sample> samples_;
  int reloads_ = 0, upgrades_ = 0;
};

// The median of the last tenth.
double level_of(const std::vector<Sample>& samples) {
  std::vector<double> last;
  for (auto i = samples.size() - samples.size() / 10 - 1; i < samples.size(); ++i) {
    last.push_back(samples[i].kib);
  }
  std::sort(last.begin(), last.end());
  return last[last.size() / 2];
}

void check_slope(Stage& stage, const std::vector<Sample>& samples) {
  const double span = samples.back().requests - samples[samples.size() / 3].requests;
  const double slope = slope_of(samples);
  char text[160];
  (void)std::snprintf(text, sizeof text, "%.0f KiB, %+.0f KiB per million requests (over %.0f)",
                      samples.back().kib, slope, span);
  stage.note(text);
  const auto [least, most] = std::minmax_element(
      samples.begin(), samples.end(),
      [](const Sample& a, const Sample& b) { return a.buffers_kib < b.buffers_kib; });
  (void)std::snprintf(text, sizeof text, "receive buffers: %.0f to %.0f KiB, of at most %.0f",
                      least->buffers_kib, most->buffers_kib, samples.back().buffers_most_kib);
  stage.note(text);
  if (span >= 3e5) stage.expect(slope <= 64, "memory grows");
}

void check_files(Stage& stage) {
  stage.client().hang_up();
  const auto before = stage.usage_at_start().files;
  std::size_t left = 0;
  const bool equal = wait_until(
      [&] {
        left = stage.balancer().usage().files;
        return left <= before;
      },
      std::chrono::seconds(30));
  stage.note(std::to_string(left) + " files, " + std::to_string(before) + " at the start");
  stage.expect(equal, "descriptors are left over");
}

int run(Args& args) {
  const double seconds = args.number("minutes", 10) * 60;
  const int reloads = args.whole("reloads", 1000), upgrades = args.whole("upgrades", 50);
  StageOptions options{.rate = args.number("rate", 2000)};
  options.listen = "127.0.0.1:" + std::to_string(free_port());
  options.admin = "address: \"127.0.0.1:" + std::to_string(free_port()) + "\"";
  options.top = "pool: { idle_timeout: 5s }\n";
  Context context{.balancer = {.binary = args.text("binary", binary_beside())},
                  .ledger = rig_beside("ledger")};
  if (args.has("io")) context.balancer.arguments = {"--io", args.text("io")};
  if (!args.all_known()) return 2;
  Stage stage(context, "soak", "endurance", options);
  if (!stage.steady()) {
    for (const auto& text : stage.finish().failures) std::printf("%s\n", text.c_str());
    return 1;
  }
  const bool supervised = tree_of(stage.balancer().process().pid()).size() > 1;
  if (!supervised) std::printf("note: no supervisor, so no upgrades\n");
  make_crowds(stage);
  Endurance endurance(stage, supervised);
  const bool halves = supervised && upgrades > 0;
  endurance.run(halves ? seconds / 2 : seconds, halves ? reloads / 2 : reloads, 0);
  check_slope(stage, endurance.samples());
  if (halves) {
    const double level = level_of(endurance.samples());
    endurance.run(seconds / 2, reloads - reloads / 2, upgrades);
    const double grown = level_of(endurance.samples()) - level;
    char text[80];
    (void)std::snprintf(text, sizeof text, "%+.0f KiB after the upgrades", grown);
    stage.note(text);
    stage.expect(grown <= 1024, "memory grows by upgrades");
  }
  stage.settle(0);
  if (!halves) check_counters(stage, static_cast<double>(stage.client().totals().good));
  check_files(stage);
  stage.note(std::to_string(endurance.reloads()) + " configurations, " +
             std::to_string(endurance.upgrades()) + " upgrades");
  stage.expect(stage.errors() == 0, "requests failed");
  (void)stage.balancer().stop();
  const auto log = stage.balancer().log();
  const auto upgraded = count_of(log, " upgraded generation=");
  stage.expect(upgraded == static_cast<std::size_t>(endurance.upgrades()),
               std::to_string(upgraded) + " upgrades took place");
  check_served(stage, log, upgraded + 1);
  const auto report = stage.finish();
  for (const auto& note : report.notes) std::printf("%s\n", note.c_str());
  for (const auto& failure : report.failures) std::printf("%s\n", failure.c_str());
  std::printf("%s: %zu requests in %.0f s\n", report.pass() ? "pass" : "FAIL",
              stage.client().asked().size(), seconds);
  return report.pass() ? 0 : 1;
}

}  // namespace
}  // namespace steelyard::rigs

int main(int argc, char** argv) {
  (void)::signal(SIGPIPE, SIG_IGN);
  steelyard::rigs::Args args(argc, argv);
  return steelyard::rigs::run(args);
}
