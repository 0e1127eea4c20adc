// steelyard demo: the main job in one process. Two sides run side by side under the same load: one
// with Steelyard's sensing, one with static weights. After a while one node of each falls ill.
#include <algorithm>
#include <csignal>
#include <fmt/format.h>

#include "steelyard/cli/command.h"
#include "steelyard/cli/demo_side.h"
#include "steelyard/io/clock.h"
#include "steelyard/io/epoll.h"
#include "steelyard/io/process.h"
#include "steelyard/io/signal.h"
#include "steelyard/io/socket.h"
#include "steelyard/io/terminal.h"

namespace steelyard::cli {
namespace {

using base::Duration;
using base::TimePoint;

constexpr std::size_t kPlainColumns = 400;  // lines of a log may be long

int fail(std::string_view text) {
  fmt::print(stderr, "steelyard demo: {}\n", text);
  return kFailure;
}

// The illness takes its place in shorter and longer demos alike: from 2/9 to 6/9 of the time.
struct Plan {
  explicit Plan(unsigned seconds)
      : ill(std::chrono::milliseconds(seconds * 2000ULL / 9)),
        well(std::chrono::milliseconds(seconds * 6000ULL / 9)),
        end(std::chrono::seconds(seconds)) {}
  Duration ill, well, end;
  [[nodiscard]] Phase at(Duration since) const {
    return since < ill ? Phase::kHealthy : since < well ? Phase::kIll : Phase::kRecovered;
  }
};

class Screen {
 public:
  Screen(bool plain, Engine& engine) : plain_(plain), engine_(engine) {}

  void phase(Phase phase, Duration since) {
    const std::string_view what =
        phase == Phase::kIll         ? "node-b falls ill: it stops for up to 1.8 s, again and again"
        : phase == Phase::kRecovered ? "node-b has recovered"
                                     : "all nodes are healthy";
    note_ = std::string(what);
    if (plain_) fmt::print("[{:5.1f} s] ** {}\n", base::seconds(since), what);
  }

  void update(Duration since, TimePoint now) {
    news(since);
    const bool due = now >= next_table_;
    if (!due) return;
    next_table_ =
        now + (plain_ ? Duration(std::chrono::seconds(5)) : Duration(std::chrono::seconds(1)));
    const auto views = engine_.brain().views(now);
    const auto rows = demo_rows(views.front(), kDemoCores);
    if (plain_) {
      fmt::print("[{:5.1f} s]\n{}", base::seconds(since), render_table(rows, kPlainColumns));
    } else {
      const auto columns = io::terminal_columns();
      const auto table = render_table(rows, columns);
      const std::size_t used = 4 + static_cast<std::size_t>(std::ranges::count(table, '\n'));
      const auto free_rows = io::terminal_rows() > used ? io::terminal_rows() - used : 0;
      const auto title = fmt::format("Steelyard demo, {:.0f} s · {}", base::seconds(since), note_);
      fmt::print("\x1b[H\x1b[J{}http://{}/api/v1/upstreams\n\n{}\n{}",
                 last_lines(title, 1, columns), engine_.admin_address().to_text(), table,
                 last_lines(recent_, free_rows > 0 ? free_rows - 1 : 0, columns));
    }
    std::fflush(stdout);
  }

 private:
  // Decisions since the last look, oldest first.
  void news(Duration since) {
    const auto found = engine_.brain().history().find({.limit = 50});
    TimePoint newest = seen_;
    for (auto at = found.rbegin(); at != found.rend(); ++at) {
      const auto& d = **at;
      if (d.at <= seen_) continue;
      newest = std::max(newest, d.at);
      if (d.change == model::Change::kSuppressed || d.change == model::Change::kNone) continue;
      const auto line = fmt::format("[{:5.1f} s] {}\n", base::seconds(since), d.reason);
      if (plain_) {
        fmt::print("{}", line);
      } else {
        remember(line);
      }
    }
    seen_ = newest;
  }
  void remember(const std::string& line) {
    recent_ += line;
    for (auto lines = std::count(recent_.begin(), recent_.end(), '\n'); lines > 12; --lines) {
      recent_.erase(0, recent_.find('\n') + 1);
    }
  }

  bool plain_;
  Engine& engine_;
  TimePoint next_table_{};
  TimePoint seen_{};
  std::string note_ = "all nodes are healthy";
  std::string recent_;
};

// The usual address of the API if it is free, else any.
std::string admin_address(const DemoFlags& flags) {
  if (!flags.admin.empty()) return flags.admin;
  const std::string usual = "127.0.0.1:9180";
  const auto address = base::Address::parse(usual);
  return io::listen_tcp(*address, {.backlog = 1, .reuse_port = false}) ? usual : "127.0.0.1:0";
}

struct Wake final : io::TimerEvents {
  void on_time() noexcept override {}
};

}  // namespace

int demo(const DemoFlags& flags) {
  io::block_signals();
  io::raise_descriptor_limit();
  const auto reactor = io::make_epoll_reactor();
  Log silent(-1);
  bool interrupted = false;
  const auto signals = io::watch_signals(*reactor, [&](int number) {
    if (number == SIGINT || number == SIGTERM) interrupted = true;
  });
  if (!signals) return fail(signals.error().describe());

  DemoSide ours(*reactor, silent,
                {.senses = true, .admin = admin_address(flags), .seed = flags.seed});
  DemoSide fixed(*reactor, silent, {.senses = false, .admin = "127.0.0.1:0", .seed = flags.seed});
  for (auto* side : {&ours, &fixed}) {
    if (auto started = side->start(); !started) return fail(started.error().describe());
  }
  const bool plain = flags.plain || !io::is_terminal(1);
  const Plan plan(flags.seconds);
  fmt::print(
      "Five nodes of 8, 8, 4, 4 and 2 cores, load at 60 % of their capacity, seed {}.\n"
      "API: http://{}/api/v1/upstreams and /api/v1/decisions\n",
      flags.seed, ours.engine().admin_address().to_text());

  Wake wake;
  const auto timer = reactor->timer(wake);
  Screen screen(plain, ours.engine());
  const TimePoint start = io::steady_now();
  Phase phase = Phase::kHealthy;
  screen.phase(phase, {});
  for (TimePoint now = start; now - start < plan.end && !interrupted; now = io::steady_now()) {
    if (const Phase next = plan.at(now - start); next != phase) {
      phase = next;
      ours.set_phase(phase);
      fixed.set_phase(phase);
      screen.phase(phase, now - start);
    }
    screen.update(now - start, now);
    timer->at(now + std::chrono::milliseconds(100));
    reactor->run_turn(now + std::chrono::milliseconds(100));
  }
  ours.finish();
  fixed.finish();
  fmt::print("\n{}", render_summary(ours.stats(), fixed.stats()));
  std::uint64_t errors = 0;
  for (const auto& stats : ours.stats()) errors += stats.errors;
  if (errors != 0) return fail(fmt::format("clients of Steelyard saw {} errors", errors));
  return kOk;
}

}  // namespace steelyard::cli
