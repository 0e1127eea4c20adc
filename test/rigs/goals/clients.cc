// L5 and L6: what clients cost in memory, idle ones and large bodies.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <deque>
#include <functional>
#include <sys/resource.h>
#include <thread>

#include "test/rigs/goals/field.h"
#include "test/rigs/goals/pattern.h"
#include "test/rigs/lib/crowd.h"
#include "test/rigs/lib/http.h"

namespace steelyard::rigs {

Goal idle_clients(const Settings& settings) {
  constexpr std::size_t kClients = 10'000, kAtOnce = 50;
  Goal goal("L5", "10,000 idle keep-alive clients");
  // The program reckons with two files for each client, and keeps a reserve; so many are let in.
  constexpr std::size_t kReserve = 80;
  rlimit limit{};
  (void)::getrlimit(RLIMIT_NOFILE, &limit);
  const auto clients = std::min(kClients, (limit.rlim_max - kReserve) / 2);
  if (clients < kClients) {
    goal.note(std::to_string(clients) + " clients, for the limit is " +
              std::to_string(limit.rlim_max) + " open files");
  }
  const QuickNode node({});
  const auto ours = start_ours(settings, {node.port()},
                               {.top = "clients: { idle_timeout: 10m, max_connections: 12000 }\n"});
  if (ours == nullptr) {
    goal.broken("steelyard did not start");
    return goal;
  }
  const CrowdOptions options{.to = {"127.0.0.1", ours->port()},
                             .connections = clients,
                             .sources = 4,
                             .request = "GET /64 HTTP/1.1\r\nHost: goal.example\r\n\r\n"};
  {  // what any traffic takes once
    auto few = options;
    few.connections = 200;
    Crowd warm(few);
    if (!warm.open_all(10)) return goal.broken("no connection"), goal;
    warm.send_all();
    (void)warm.run_until_answered(10);
  }
  pause(0.5);
  const auto before = ours->usage();
  Crowd crowd(options);
  if (!crowd.open_all(60)) return goal.broken("not all connected"), goal;
  // Each has asked once: an idle keep-alive client is one between two requests.
  const auto ask_all = [&](double& worst_ms) {
    std::size_t answered = 0;
    for (std::size_t at = 0; at < clients; at += kAtOnce) {
      crowd.send_some(at, kAtOnce);
      (void)crowd.run_until_answers(kAtOnce, 5);
      answered += crowd.answered();
      worst_ms = std::max(worst_ms, crowd.quantile_ms(1));
    }
    return answered;
  };
  double first_ms = 0, worst_ms = 0;
  const auto first = ask_all(first_ms);
  const auto cpu = ours->usage().cpu_s;
  const Watch watch({ours->process().pid()});
  crowd.run(settings.idle_s);
  const auto after = ours->usage();
  const auto held = crowd.open_now();
  goal.others(watch.others());
  const auto second = ask_all(worst_ms);
  const auto all = static_cast<double>(clients);
  goal.at_least("held", static_cast<double>(held), all, "");
  goal.at_least("answered", static_cast<double>(std::min(first, second)), all, "");
  goal.at_most("memory of each",
               static_cast<double>(after.private_kib - before.private_kib) * 1024 / all, 1024,
               " B");
  goal.at_most("CPU", (after.cpu_s - cpu) / settings.idle_s * 100, 2, " %");
  // Beside others the slowest of 10,000 says how long their turns are.
  goal.at_most("slowest new request", worst_ms, 50, " ms", Goal::Needs::kQuiet);
  return goal;
}

namespace {

// One client with one large body after the other, each checked byte by byte.
class Body {
 public:
  Body(Loop& loop, std::uint16_t port, std::uint64_t size, bool up, std::function<void(bool)> done)
      : size_(size), up_(up), done_(std::move(done)) {
    const auto text = std::to_string(size);
    wire_ = Wire::dial(loop, {"127.0.0.1", port});
    reader_.on_head = [this](const Head& head) { status_ = head.status(); };
    reader_.on_body = [this](std::string_view bytes) {
      right_ = right_ && Pattern::holds(got_, bytes);
      got_ += bytes.size();
    };
    reader_.on_end = [this] {
      finish(status_ == 200 && right_ && got_ == (up_ ? kAnswer : size_) &&
             sent_ == (up_ ? size_ : 0));
    };
    wire_->on.bytes = [this](std::string_view bytes) {
      if (!reader_.feed(bytes)) finish(false);
    };
    wire_->on.end = [this](int) { finish(false); };
    wire_->on.drained = [this, &loop] { loop.later([this] { pour(); }); };
    wire_->on.connected = [this, text] {
      wire_->send(up_ ? "POST /" + std::to_string(kAnswer) +
                            " HTTP/1.1\r\nHost: goal.example\r\nContent-Length: " + text +
                            "\r\n\r\n"
                      : "GET /" + text + " HTTP/1.1\r\nHost: goal.example\r\n\r\n");
    };
  }

 private:
  static constexpr std::uint64_t kAnswer = 64;

  void pour() {
    if (!up_ || over_ || sent_ == size_ || wire_->queued() > 0) return;
    const auto part = Pattern::from(
        sent_, static_cast<std::size_t>(std::min<std::uint64_t>(size_ - sent_, 128 << 10)));
    sent_ += part.size();
    wire_->send(part);
  }
  void finish(bool good) {
    if (!std::exchange(over_, true)) done_(good);
  }

  std::uint64_t size_, sent_ = 0, got_ = 0;
  bool up_, right_ = true, over_ = false;
  int status_ = 0;
  std::function<void(bool)> done_;
  MessageReader reader_{MessageReader::Kind::kAnswer};
  std::shared_ptr<Wire> wire_;
};

// The number of `count` bodies at once that came right; -1: not in time.
int move(std::uint16_t port, std::size_t count, std::uint64_t size, bool up) {
  Loop loop;
  std::size_t over = 0;
  int good = 0;
  std::vector<std::unique_ptr<Body>> all;
  for (std::size_t i = 0; i < count; ++i) {
    all.push_back(std::make_unique<Body>(loop, port, size, up, [&](bool right) {
      good += right;
      if (++over == count) loop.stop();
    }));
  }
  loop.run_until(Clock::now() + std::chrono::minutes(3));
  return over == count ? good : -1;
}

// The most that a process tree has resident while something runs.
template <typename What>
std::int64_t peak_rss(const Balancer& balancer, What what) {
  std::atomic<bool> over{false};
  std::int64_t most = 0;
  std::thread sampler([&] {
    while (!over) {
      most = std::max(most, balancer.usage().rss_kib);
      pause(0.02);
    }
  });
  what();
  over = true;
  sampler.join();
  return std::max(most, balancer.usage().rss_kib);
}

}  // namespace

Goal large_bodies(const Settings& settings) {
  Goal goal("L6", "large bodies, memory while they pass");
  const QuickNode node({});
  const auto ours = start_ours(settings, {node.port()}, {.top = "clients: { max_body: 2GiB }\n"});
  if (ours == nullptr) {
    goal.broken("steelyard did not start");
    return goal;
  }
  const auto port = ours->port();
  for (int i = 0; i < 200; ++i) (void)ask_get(port, "/64");  // what any traffic takes once
  const auto base = ours->usage().rss_kib;
  struct Step {
    const char* name;
    std::size_t count;
    std::uint64_t size;
    bool up;
  };
  constexpr std::uint64_t kMiB = 1 << 20;
  int wrong = 0;
  for (const Step& step :
       {Step{"1 GiB down", 1, 1024 * kMiB, false}, Step{"1 GiB up", 1, 1024 * kMiB, true},
        Step{"64 × 16 MiB down", 64, 16 * kMiB, false},
        Step{"64 × 16 MiB up", 64, 16 * kMiB, true}}) {
    int good = 0;
    const auto most = peak_rss(*ours, [&] { good = move(port, step.count, step.size, step.up); });
    wrong += good != static_cast<int>(step.count);
    goal.at_most(step.name, static_cast<double>(most - base) / 1024, 16, " MiB");
  }
  goal.at_most("wrong bodies", wrong, 0, "");
  return goal;
}

}  // namespace steelyard::rigs
