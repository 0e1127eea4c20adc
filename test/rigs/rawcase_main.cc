// Every case of http_cases.jsonl against the real program over TCP, four ways: whole, byte by byte,
// cut at each line end, cut at three random places. A recording back end notes what arrives.
//
//   rawcase [--io epoll|uring] [--only q001,r002] [--binary PATH] [--seed 1] [--verbose]
//
// After each case a fresh good request has to succeed; at the end the program's memory has to be
// back near what it was after the first tenth. Prints each wrong verdict and a summary; exit status
// 1 when there is one.
#include <algorithm>
#include <arpa/inet.h>
#include <csignal>
#include <cstdio>
#include <map>
#include <netinet/in.h>
#include <poll.h>
#include <sstream>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

#include "steelyard/base/rng.h"

#include "test/paths.h"
#include "test/rigs/lib/args.h"
#include "test/rigs/lib/balancer.h"
#include "test/rigs/lib/case_verdict.h"
#include "test/rigs/lib/cases.h"
#include "test/rigs/lib/recorder.h"

namespace steelyard::rigs {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;

enum class Way { kWhole, kBytes, kLines, kRandom };
constexpr std::array kWays{Way::kWhole, Way::kBytes, Way::kLines, Way::kRandom};
constexpr std::array kWayNames{"whole", "bytes", "lines", "random"};

std::vector<std::string> pieces(const std::string& text, Way way, base::Rng& rng) {
  std::vector<std::size_t> cuts;
  // A long input byte by byte takes minutes and tells nothing after its first part.
  constexpr std::size_t kSingly = 2000;
  for (std::size_t i = 1; i < text.size(); ++i) {
    const bool line = text[i - 1] == '\n' || text[i - 1] == '\r';
    if ((way == Way::kBytes && i < kSingly) ||
        (way == Way::kLines && line && cuts.size() < kSingly)) {
      cuts.push_back(i);
    }
  }
  for (int i = 0; way == Way::kRandom && i < 3 && text.size() > 1; ++i) {
    cuts.push_back(1 + rng.below(text.size() - 1));
  }
  std::sort(cuts.begin(), cuts.end());
  std::vector<std::string> out;
  std::size_t from = 0;
  for (const std::size_t cut : cuts) {
    if (cut > from) out.push_back(text.substr(from, cut - from));
    from = cut;
  }
  out.push_back(text.substr(from));
  return out;
}

// A client connection that collects what comes.
class Client {
 public:
  explicit Client(std::uint16_t port) : fd_(connect_now({"127.0.0.1", port}, milliseconds(3000))) {}
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  ~Client() {
    if (fd_ >= 0) ::close(fd_);
  }
  void send(const std::vector<std::string>& parts) {
    for (const auto& part : parts) {
      std::string_view rest = part;
      while (!rest.empty() && !seen_.closed) {
        const ssize_t sent = ::send(fd_, rest.data(), rest.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && errno == EAGAIN) {
          read(milliseconds(20));
          continue;
        }
        if (sent < 0) return;
        rest.remove_prefix(static_cast<std::size_t>(sent));
      }
    }
  }
  void end() const { (void)::shutdown(fd_, SHUT_WR); }
  // Until nothing came for `calm`, the end, or 6 s.
  void read(milliseconds calm) {
    const auto limit = Clock::now() + std::chrono::seconds(6);
    std::string buffer(65536, '\0');
    pollfd watch{fd_, POLLIN, 0};
    while (!seen_.closed && Clock::now() < limit &&
           ::poll(&watch, 1, static_cast<int>(calm.count())) > 0) {
      const ssize_t got = ::recv(fd_, buffer.data(), buffer.size(), 0);
      if (got <= 0) {
        seen_.closed = true;
        seen_.reset = got < 0;
      } else {
        seen_.bytes.append(buffer, 0, static_cast<std::size_t>(got));
      }
    }
  }
  [[nodiscard]] const ClientSeen& seen() const { return seen_; }

 private:
  int fd_;
  ClientSeen seen_;
};

class Runner {
 public:
  Runner(const BalancerOptions& options, std::uint64_t seed, bool verbose)
      : rng_(seed), verbose_(verbose), balancer_(config(), options) {}

  [[nodiscard]] bool up() const { return balancer_.up(); }
  [[nodiscard]] std::string log() const { return balancer_.log(); }

  void run(const json& row) {
    const bool request = row["kind"] == "request";
    std::vector<std::string> verdicts;
    for (std::size_t i = 0; i < kWays.size(); ++i) {
      const auto wrong = request ? ask(row, kWays[i]) : answer(row, kWays[i]);
      for (const auto& text : wrong) {
        ++wrong_;
        std::printf("%s (%s): %s: %s\n", row["id"].get<std::string>().c_str(), kWayNames[i],
                    row["name"].get<std::string>().c_str(), text.c_str());
      }
      verdicts.push_back(outcome_);
      fresh(row, kWayNames[i]);
      ++runs_;
    }
    if (std::any_of(verdicts.begin(), verdicts.end(),
                    [&](const std::string& one) { return one != verdicts[0]; })) {
      ++uneven_;
      std::printf("%s: verdicts differ by cut: %s %s %s %s\n", row["id"].get<std::string>().c_str(),
                  verdicts[0].c_str(), verdicts[1].c_str(), verdicts[2].c_str(),
                  verdicts[3].c_str());
    }
    if (verbose_) std::printf("%s %s\n", row["id"].get<std::string>().c_str(), verdicts[0].c_str());
    (void)std::fflush(stdout);
  }
  [[nodiscard]] std::int64_t memory() const { return balancer_.usage().private_kib; }
  [[nodiscard]] std::size_t wrong() const { return wrong_; }
  [[nodiscard]] std::size_t uneven() const { return uneven_; }
  [[nodiscard]] std::size_t runs() const { return runs_; }
  int stop() { return balancer_.stop(); }

 private:
  std::string config() {
    return "workers: 1\nlisteners:\n  - address: \"127.0.0.1:0\"\n    routes:\n      - upstream: "
           "api\n"
           "        timeouts: { connect: 1s, head: 700ms, idle: 700ms }\n        retry: { "
           "attempts: 0 }\n"
           "upstreams:\n  api:\n    nodes: [{ name: n1, address: \"127.0.0.1:" +
           std::to_string(recorder_.port()) +
           "\" }]\n    health: { passive: { consecutive_failures: 0 }, slow_start: 0s }\n"
           "clients: { head_timeout: 700ms, idle_timeout: 5s }\n"
           "drain: { limit: 2s, idle: 50ms }\nadmin: { address: \"127.0.0.1:0\" }\n";
  }

  std::vector<std::string> ask(const json& row, Way way) {
    recorder_.script({});
    Client client(balancer_.port());
    client.send(pieces(raw_of(row), way, rng_));
    const auto steps = row.contains("steps") ? row["steps"].dump() : std::string();
    if (steps.find("shutdown_write") != std::string::npos) client.end();
    // An answer comes within milliseconds; a refusal or a time-out within the limits above.
    const bool waits = row["accept"].dump().find("wait") != std::string::npos;
    client.read(milliseconds(waits ? 1000 : 250));
    const auto got = recorder_.take();
    outcome_ = outcome_of(row, client.seen(), got);
    return judge_request_case(row, client.seen(), got);
  }

  std::vector<std::string> answer(const json& row, Way way) {
    const auto steps = row.contains("steps") ? row["steps"].dump() : std::string();
    recorder_.script({.pieces = pieces(raw_of(row), way, rng_),
                      .after = row["backend_after"].get<std::string>(),
                      .on_accept = steps.find("on accept") != std::string::npos,
                      .when_idle = steps.find("wait idle") != std::string::npos});
    const auto request = latin1(row["request"].get<std::string>());
    Client client(balancer_.port());
    client.send({request});
    client.read(milliseconds(900));
    if (steps.find("next request") != std::string::npos) {
      Client next(balancer_.port());
      next.send({request});
      next.read(milliseconds(300));
      outcome_ = next.seen().bytes.find("poison") == std::string::npos &&
                         next.seen().bytes.starts_with("HTTP/1.1 200")
                     ? "discard"
                     : "relay";
    } else {
      outcome_ = outcome_of(row, client.seen(), recorder_.take());
    }
    return judge_answer_case(row, client.seen(), outcome_);
  }

  void fresh(const json& row, const char* way) {
    recorder_.script({});
    const auto answer = ask_get(balancer_.port(), "/fresh", milliseconds(3000));
    const auto got = recorder_.take();
    if (answer.status == 200 && answer.body == "fine") return;
    ++wrong_;
    std::printf("%s (%s): the next good request got %d\n", row["id"].get<std::string>().c_str(),
                way, answer.status);
  }

  Recorder recorder_;
  base::Rng rng_;
  bool verbose_;
  Balancer balancer_;
  std::string outcome_;
  std::size_t wrong_ = 0, uneven_ = 0, runs_ = 0;
};

int run(Args& args) {
  BalancerOptions options{.binary = args.text("binary", binary_beside())};
  if (args.has("io")) options.arguments = {"--io", args.text("io")};
  const auto file = args.text("cases", test::source_path("test/http/http_cases.jsonl"));
  const auto only = args.text("only");
  const auto seed = static_cast<std::uint64_t>(args.whole("seed", 1));
  Runner runner(options, seed, args.has("verbose"));
  if (!args.all_known()) return 2;
  if (!runner.up()) {
    std::fprintf(stderr, "rawcase: the program did not start: %s\n", runner.log().c_str());
    return 2;
  }
  auto rows = load_cases(file, "request");
  const auto answers = load_cases(file, "response");
  rows.insert(rows.end(), answers.begin(), answers.end());
  std::int64_t base = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    // An answer before the request's first byte: over a real connection nobody can tell whether it
    // came before, so the codec's own test shows it.
    if (rows[i]["id"] == "r073") continue;
    if (!only.empty() &&
        ("," + only + ",").find("," + rows[i]["id"].get<std::string>() + ",") == only.npos) {
      continue;
    }
    runner.run(rows[i]);
    if (i == rows.size() / 10) base = runner.memory();
  }
  const auto memory = runner.memory();
  const int status = runner.stop();
  std::printf("seed %llu: %zu cases, %zu runs, %zu wrong, %zu uneven; memory %+lld KiB; exit %d\n",
              static_cast<unsigned long long>(seed), rows.size(), runner.runs(), runner.wrong(),
              runner.uneven(), static_cast<long long>(base > 0 ? memory - base : 0), status);
  const bool flat = base == 0 || memory - base <= 4096;  // buffers of the largest cases
  return runner.wrong() + runner.uneven() == 0 && status == 0 && flat ? 0 : 1;
}

}  // namespace
}  // namespace steelyard::rigs

int main(int argc, char** argv) {
  (void)::signal(SIGPIPE, SIG_IGN);
  steelyard::rigs::Args args(argc, argv, {"verbose"});
  return steelyard::rigs::run(args);
}
