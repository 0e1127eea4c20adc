// The same inputs to the program, to Debian's Nginx and to its HAProxy, each before a recording
// back end of its own: what one takes and the others refuse, and whether what the program forwards
// is read by the others as it means it.
//
//   differential [N] [--seed 1] [--lanes 4] [--io epoll|uring] [--binary PATH] [--show 20]
//                [--refused]
//
// The inputs are dealt to lanes that work at the same time, each with three proxies of its own, for
// most of the time is waiting. What looks like a finding is tried again twice, with more patience:
// on a busy machine an answer may come after its time. `--refused` shows what the program forwards
// and a peer refuses to read.
//
// Inputs are mutations of valid requests and of the cases in http_cases.jsonl, from a seed. Fails
// on an input that the program forwards and both peers refuse for the same reason, and on forwarded
// bytes that a peer reads as another method, target, number of requests or body. Other
// disagreements are counted, forwarded bytes that a peer refuses among them.
#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <poll.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <unordered_set>

#include "test/paths.h"
#include "test/rigs/differential/explain.h"
#include "test/rigs/differential/inputs.h"
#include "test/rigs/lib/args.h"
#include "test/rigs/lib/balancer.h"
#include "test/rigs/lib/payload.h"
#include "test/rigs/lib/recorder.h"

namespace steelyard::rigs {
namespace {

using std::chrono::milliseconds;

struct Reading {
  enum class Kind { kTaken, kRefused, kUnsure } kind = Kind::kUnsure;
  int status = 0;
  std::string forwarded;              // bytes of the connection to the back end
  std::vector<std::string> meanings;  // "METHOD target length digest" of each request
};

std::string meaning_of(const Recorded::Request& request) {
  return std::string(request.head.method()) + " " + std::string(request.head.target()) + " " +
         std::to_string(request.body.size()) + " " + std::to_string(digest_of(request.body));
}

constexpr int kPatience_ms = 60, kMorePatience_ms = 500;

// Sends an input on a connection of its own and waits for an answer, an end, or for `patience` with
// neither.
Reading read_by(std::uint16_t port, Recorder& back, const std::string& input,
                int patience = kPatience_ms) {
  Reading out;
  (void)back.take();
  const int fd = connect_now({"127.0.0.1", port}, milliseconds(2000));
  if (fd < 0) return out;
  (void)!::send(fd, input.data(), input.size(), MSG_NOSIGNAL);
  std::string buffer(16384, '\0');
  bool closed = false;
  pollfd watch{fd, POLLIN, 0};
  while (out.status == 0 && !closed && ::poll(&watch, 1, patience) > 0) {
    const ssize_t got = ::recv(fd, buffer.data(), buffer.size(), 0);
    closed = got <= 0;
    const std::string_view text(buffer.data(), got > 0 ? static_cast<std::size_t>(got) : 0);
    const auto at = text.rfind("HTTP/1.");
    if (at != text.npos && text.size() > at + 12) out.status = std::atoi(text.data() + at + 9);
    if (out.status >= 100 && out.status < 200) out.status = 0;
  }
  ::close(fd);
  auto recorded = back.take();
  for (auto& bytes : recorded.bytes) out.forwarded += bytes;
  for (const auto& request : recorded.requests) out.meanings.push_back(meaning_of(request));
  if (!out.meanings.empty()) {
    out.kind = Reading::Kind::kTaken;
  } else if (out.status >= 400 || closed) {
    out.kind = Reading::Kind::kRefused;
  }
  return out;
}

std::string nginx_config(const std::string& dir, std::uint16_t port, std::uint16_t back) {
  return "daemon off; master_process off; pid " + dir + "/nginx.pid; error_log " + dir +
         "/nginx-error.log crit;\nevents { worker_connections 512; }\nhttp { access_log off;"
         " client_body_temp_path " +
         dir + "/b; proxy_temp_path " + dir + "/p; fastcgi_temp_path " + dir +
         "/f; uwsgi_temp_path " + dir + "/u; scgi_temp_path " + dir +
         "/s;\n"
         " server { listen 127.0.0.1:" +
         std::to_string(port) +
         "; location / { proxy_http_version 1.1; proxy_set_header Host $http_host; proxy_pass "
         "http://127.0.0.1:" +
         std::to_string(back) + "; } } }\n";
}

std::string haproxy_config(std::uint16_t port, std::uint16_t back) {
  return "global\n  maxconn 500\ndefaults\n  mode http\n  timeout connect 2s\n  timeout client 5s\n"
         "  timeout server 5s\nfrontend f\n  bind 127.0.0.1:" +
         std::to_string(port) +
         "\n  default_backend b\nbackend b\n  server s 127.0.0.1:" + std::to_string(back) + "\n";
}

std::string steelyard_config(std::uint16_t back) {
  return "workers: 1\nlisteners:\n  - { address: \"127.0.0.1:0\", routes: [{ upstream: api }] }\n"
         "upstreams:\n  api: { nodes: [\"127.0.0.1:" +
         std::to_string(back) +
         "\"], health: { passive: { consecutive_failures: 0 } } }\n"
         "drain: { limit: 1s, idle: 50ms }\nadmin: { address: \"127.0.0.1:0\" }\n";
}

std::string shown(const std::string& bytes) {
  std::string out;
  for (const char c : bytes) {
    char text[8];
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\r')
      out += "\\r";
    else if (c == '\n')
      out += "\\n";
    else if (byte < 0x20 || byte > 0x7e)
      (void)std::snprintf(text, sizeof text, "\\x%02x", byte), out += text;
    else
      out += c;
  }
  return out;
}

// The same message under another request id is the same message.
std::uint64_t digest_without_id(std::string bytes) {
  constexpr std::string_view kName = "\r\nX-Request-Id: ";
  for (auto at = bytes.find(kName); at != bytes.npos; at = bytes.find(kName, at)) {
    at += kName.size();
    bytes.erase(at, std::min(bytes.find('\r', at), bytes.size()) - at);
  }
  return digest_of(bytes);
}

struct Sums {
  std::size_t inputs = 0, taken = 0, alone = 0, explained = 0, otherwise = 0, strict = 0, sent = 0;
  std::array<std::size_t, 2> unread{};

  void add(const Sums& other) {
    inputs += other.inputs;
    taken += other.taken;
    alone += other.alone;
    explained += other.explained;
    otherwise += other.otherwise;
    strict += other.strict;
    sent += other.sent;
    unread[0] += other.unread[0];
    unread[1] += other.unread[1];
  }
};

struct Show {
  std::atomic<std::size_t> left;
  bool refused;
};

class Differential {
 public:
  Differential(const BalancerOptions& options, Show& show)
      : show_(show), ours_(steelyard_config(backs_[0].port()), options) {
    const auto config = dir_ / "nginx.conf", other = dir_ / "haproxy.cfg";
    write_text(config, nginx_config(dir_.path(), ports_[1] = free_port(), backs_[1].port()));
    write_text(other, haproxy_config(ports_[2] = free_port(), backs_[2].port()));
    nginx_ = std::make_unique<Process>(
        std::vector<std::string>{"/usr/sbin/nginx", "-p", dir_.path(), "-c", config},
        SpawnOptions{.output = dir_ / "nginx.out"});
    haproxy_ =
        std::make_unique<Process>(std::vector<std::string>{"/usr/sbin/haproxy", "-db", "-f", other},
                                  SpawnOptions{.output = dir_ / "haproxy.out"});
    if (ours_.up()) ports_[0] = ours_.port();
  }

  bool up() {
    const std::string good = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
    for (std::size_t i = 0; i < 3; ++i) {
      const bool answers =
          ports_[i] != 0 &&
          wait_until(
              [&] { return read_by(ports_[i], backs_[i], good).kind == Reading::Kind::kTaken; },
              std::chrono::seconds(15));
      if (answers) continue;
      std::fprintf(stderr, "differential: %s does not serve: %s%s\n", kNames[i],
                   read_text(dir_ / "nginx.out").c_str(), read_text(dir_ / "haproxy.out").c_str());
      return false;
    }
    return true;
  }

  void one(const std::string& input) {
    auto reading = by_all(input, kPatience_ms);
    for (int i = 0; i < kAgain && alone(reading); ++i) reading = by_all(input, kMorePatience_ms);
    ++sums_.inputs;
    sums_.taken += taken(reading[0]);
    if (alone(reading)) {
      const bool known = explained(input);
      ++(known ? sums_.explained : sums_.alone);
      if (!known) report("forwarded by us, refused by both", input, reading);
    }
    if (refused(reading[0]) && taken(reading[1]) && taken(reading[2])) ++sums_.strict;
    if (!taken(reading[0]) || !sent_.insert(digest_without_id(reading[0].forwarded)).second) return;
    ++sums_.sent;
    for (std::size_t peer = 1; peer < 3; ++peer) again(input, reading[0], peer);
  }

  // Ends the program; its status has to be 0.
  int stop() { return ours_.stop(); }
  [[nodiscard]] const Sums& sums() const { return sums_; }

 private:
  static constexpr std::array kNames{"steelyard", "nginx", "haproxy"};
  static constexpr int kAgain = 2;
  using Readings = std::array<Reading, 3>;

  static bool taken(const Reading& reading) { return reading.kind == Reading::Kind::kTaken; }
  static bool refused(const Reading& reading) { return reading.kind == Reading::Kind::kRefused; }
  static bool alone(const Readings& reading) {
    return taken(reading[0]) && refused(reading[1]) && refused(reading[2]);
  }

  Readings by_all(const std::string& input, int patience) {
    Readings out;
    std::array<std::thread, 2> peers;
    for (std::size_t i = 1; i < 3; ++i) {
      peers[i - 1] =
          std::thread([&, i] { out[i] = read_by(ports_[i], backs_[i], input, patience); });
    }
    out[0] = read_by(ports_[0], backs_[0], input, patience);
    for (auto& peer : peers) peer.join();
    return out;
  }

  // Each peer refuses it for a choice of its own: see explain.h.
  bool explained(const std::string& input) {
    return taken(read_by(ports_[1], backs_[1], as_nginx_likes(input), kMorePatience_ms)) &&
           taken(read_by(ports_[2], backs_[2], as_haproxy_likes(input), kMorePatience_ms));
  }

  // Several requests on one connection: the peer has answered the first when we look.
  static bool same(const Reading& ours, const Reading& peer) {
    return peer.meanings.empty() ||
           (peer.meanings[0] == ours.meanings[0] && peer.meanings.size() <= ours.meanings.size());
  }

  // What we forwarded, to a peer as if it were the node.
  void again(const std::string& input, Reading ours, std::size_t i) {
    auto peer = read_by(ports_[i], backs_[i], ours.forwarded);
    for (int k = 0; k < kAgain && !same(ours, peer); ++k) {
      pause(0.1);  // what comes late from before is over then, from the input before this one too
      ours = read_by(ports_[0], backs_[0], input, kMorePatience_ms);
      if (!taken(ours)) return;
      peer = read_by(ports_[i], backs_[i], ours.forwarded, kMorePatience_ms);
    }
    Readings shown_as{ours, {}, {}};
    shown_as[i] = peer;
    if (!same(ours, peer)) {
      ++sums_.otherwise;
      report(std::string("what we forwarded is read otherwise by ") + kNames[i], input, shown_as);
    } else if (refused(peer)) {  // safe: it is not read at all
      ++sums_.unread[i - 1];
      if (show_.refused) {
        report(std::string("what we forwarded is refused by ") + kNames[i], input, shown_as);
      }
    }
  }

  void report(const std::string& what, const std::string& input, const Readings& reading) {
    auto left = show_.left.load();
    while (left > 0 && !show_.left.compare_exchange_weak(left, left - 1)) continue;
    if (left == 0) return;
    std::string text = what + "\n  input     " + shown(input) + "\n  forwarded " +
                       shown(reading[0].forwarded) + "\n";
    for (std::size_t i = 0; i < 3; ++i) {
      text += std::string("  ") + kNames[i] + " status " + std::to_string(reading[i].status) +
              (reading[i].meanings.empty() ? "" : ", " + shown(reading[i].meanings[0])) + "\n";
    }
    (void)std::fputs(text.c_str(), stdout);
    (void)std::fflush(stdout);
  }

  std::array<Recorder, 3> backs_;
  std::array<std::uint16_t, 3> ports_{};
  TempDir dir_;
  Show& show_;
  Sums sums_;
  std::unordered_set<std::uint64_t> sent_;
  Balancer ours_;
  std::unique_ptr<Process> nginx_, haproxy_;
};

int run(Args& args) {
  BalancerOptions options{.binary = args.text("binary", binary_beside())};
  // One process: an engine would outlive a rig that is killed.
  options.arguments = {"--single"};
  if (args.has("io")) options.arguments.insert(options.arguments.end(), {"--io", args.text("io")});
  const auto many =
      args.words().empty() ? 200000ULL : std::strtoull(args.words()[0].c_str(), nullptr, 10);
  const auto seed = static_cast<std::uint64_t>(args.whole("seed", 1));
  const auto lanes = static_cast<std::size_t>(std::max(args.whole("lanes", 4), 1));
  Show show{static_cast<std::size_t>(args.whole("show", 20)), args.has("refused")};
  const auto cases = args.text("cases", test::source_path("test/http/http_cases.jsonl"));
  if (!args.all_known()) return 2;
  std::vector<std::unique_ptr<Differential>> all;
  for (std::size_t i = 0; i < lanes; ++i) {
    all.push_back(std::make_unique<Differential>(options, show));
    if (!all.back()->up()) return 2;
  }
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < lanes; ++i) {
    threads.emplace_back([&, i] {
      Inputs inputs(seed * 1'000'003 + i, cases);
      for (auto left = (many + lanes - 1 - i) / lanes; left > 0; --left) all[i]->one(inputs.next());
    });
  }
  for (auto& thread : threads) thread.join();
  Sums sums;
  int ended = 0;
  for (const auto& one : all) {
    sums.add(one->sums());
    ended += one->stop() == 0;
  }
  std::printf(
      "seed %llu: %zu inputs, %zu forwarded by us, %zu forwarded by us and refused by both, "
      "%zu of %zu forwarded messages read otherwise; refused by us alone: %zu\n"
      "refused by each peer for another choice of its own, and so explained: %zu\n",
      static_cast<unsigned long long>(seed), sums.inputs, sums.taken, sums.alone, sums.otherwise,
      sums.sent, sums.strict, sums.explained);
  std::printf("forwarded messages that a peer refuses to read: nginx %zu, haproxy %zu\n",
              sums.unread[0], sums.unread[1]);
  const bool clean = static_cast<std::size_t>(ended) == lanes;
  if (!clean) std::printf("the program did not end with status 0\n");
  return sums.alone + sums.otherwise == 0 && sums.taken > 0 && clean ? 0 : 1;
}

}  // namespace
}  // namespace steelyard::rigs

int main(int argc, char** argv) {
  (void)::signal(SIGPIPE, SIG_IGN);
  steelyard::rigs::Args args(argc, argv, {"refused"});
  return steelyard::rigs::run(args);
}
