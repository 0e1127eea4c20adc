// The load of the proxy benchmark: so many connections, each sending its next request when the
// answer to the last is complete (closed loop), and what the proxy's process tree used meanwhile.
//
//   load --port P --watch PID [--cpu 0] [--connections 64] [--seconds 2] [--path /64] [--expect 64]
//        [--post BYTES] [--close]
//   load --free-ports N     prints N loopback ports that are free now
//
// Prints one line of JSON. CPU time and `requests` are counted between the first 0.2 s, in which
// connections open, and the end; `answers` are all. An answer that is not 200, of another length
// than expected, or broken off is an error.
#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <getopt.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string>
#include <string_view>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include "usage.h"

namespace {

using Clock = std::chrono::steady_clock;

struct Options {
  int port = 0;
  int watch = 0;
  int cpu = 0;
  int connections = 64;
  double seconds = 2;
  std::string path = "/64";
  std::size_t expect = 64;
  std::size_t post = 0;
  bool close = false;
};

struct Connection {
  int fd = -1;
  Clock::time_point asked;
  std::string partial;  // of a head
  bool in_body = false;
  std::size_t body_left = 0;
};

sockaddr_in loopback(int port) {
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_port = htons(static_cast<std::uint16_t>(port));
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return at;
}

class Load {
 public:
  explicit Load(const Options& options)
      : options_(options),
        epoll_(::epoll_create1(EPOLL_CLOEXEC)),
        connections_(static_cast<std::size_t>(options.connections)),
        latency_us_(kLongest + 1) {
    request_ = (options.post > 0 ? "POST " : "GET ") + options.path +
               " HTTP/1.1\r\nHost: bench.example\r\nUser-Agent: load\r\nAccept: */*\r\n";
    if (options.close) request_ += "Connection: close\r\n";
    if (options.post > 0) request_ += "Content-Length: " + std::to_string(options.post) + "\r\n";
    request_ += "\r\n" + std::string(options.post, 'p');
  }

  bool open() {
    for (Connection& c : connections_) {
      if (!connect(c)) return false;
    }
    return true;
  }

  void run(Clock::time_point until) {
    std::array<epoll_event, 256> batch;
    for (now_ = Clock::now(); now_ < until; now_ = Clock::now()) {
      const int count = ::epoll_wait(epoll_, batch.data(), static_cast<int>(batch.size()), 100);
      now_ = Clock::now();
      for (int i = 0; i < count; ++i) {
        read(connections_[batch[static_cast<std::size_t>(i)].data.u32]);
      }
    }
  }

  void start_counting() {
    done = errors = 0;
    std::fill(latency_us_.begin(), latency_us_.end(), 0);
  }

  [[nodiscard]] std::size_t percentile(double share) const {
    std::uint64_t before = 0;
    for (std::size_t us = 0; us < latency_us_.size(); ++us) {
      before += latency_us_[us];
      if (static_cast<double>(before) > share * static_cast<double>(done)) return us;
    }
    return 0;
  }

  std::uint64_t done = 0;
  std::uint64_t errors = 0;

 private:
  static constexpr std::size_t kLongest = 1000000;

  // Blocking: on the loopback a connect is over when the call returns.
  bool connect(Connection& c) {
    c.fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int on = 1;
    ::setsockopt(c.fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    const auto at = loopback(options_.port);
    if (::connect(c.fd, reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0) return false;
    epoll_event event{};
    event.events = EPOLLIN | EPOLLRDHUP | EPOLLET;
    event.data.u32 = static_cast<std::uint32_t>(&c - connections_.data());
    if (::epoll_ctl(epoll_, EPOLL_CTL_ADD, c.fd, &event) != 0) return false;
    ask(c);
    return true;
  }

  void ask(Connection& c) {
    c.asked = now_;
    c.in_body = false;
    const ssize_t sent = ::send(c.fd, request_.data(), request_.size(), MSG_NOSIGNAL);
    if (sent != static_cast<ssize_t>(request_.size())) again(c);
  }

  // After a failure.
  void again(Connection& c) {
    ++errors;
    reopen(c);
  }

  void reopen(Connection& c) {
    ::close(c.fd);
    c.partial.clear();
    if (connect(c)) return;
    std::perror("load: connect");
    std::exit(1);
  }

  void read(Connection& c) {
    for (;;) {
      const ssize_t got = ::recv(c.fd, buffer_.data(), buffer_.size(), MSG_DONTWAIT);
      if (got < 0 && errno == EAGAIN) return;
      if (got <= 0) return again(c);
      const auto size = static_cast<std::size_t>(got);
      if (!take(c, {buffer_.data(), size})) return again(c);
      if (c.in_body && c.body_left == 0) return finish(c);
      if (size < buffer_.size()) return;
    }
  }

  bool take(Connection& c, std::string_view bytes) {
    if (c.in_body) {
      if (bytes.size() > c.body_left) return false;
      c.body_left -= bytes.size();
      return true;
    }
    if (!c.partial.empty()) bytes = c.partial.append(bytes);
    const auto end = bytes.find("\r\n\r\n");
    if (end == std::string_view::npos) {
      if (c.partial.empty()) c.partial = bytes;
      return true;
    }
    const auto head = bytes.substr(0, end + 2);
    const auto body = bytes.size() - end - 4;
    if (!head.starts_with("HTTP/1.1 200 ") || length_in(head) != options_.expect ||
        body > options_.expect) {
      return false;
    }
    c.in_body = true;
    c.body_left = options_.expect - body;
    c.partial.clear();
    return true;
  }

  static std::size_t length_in(std::string_view head) {
    constexpr std::string_view kName = "\r\ncontent-length:";
    for (auto at = head.find("\r\n"); at != std::string_view::npos;
         at = head.find("\r\n", at + 2)) {
      const auto line = head.substr(at);
      if (line.size() > kName.size() &&
          ::strncasecmp(line.data(), kName.data(), kName.size()) == 0) {
        return std::strtoul(line.data() + kName.size(), nullptr, 10);
      }
    }
    return static_cast<std::size_t>(-1);
  }

  void finish(Connection& c) {
    ++done;
    const auto took = std::chrono::duration_cast<std::chrono::microseconds>(now_ - c.asked).count();
    ++latency_us_[std::min(static_cast<std::size_t>(took), kLongest)];
    options_.close ? reopen(c) : ask(c);
  }

  Options options_;
  int epoll_;
  std::string request_;
  std::vector<Connection> connections_;
  std::vector<std::uint64_t> latency_us_;
  Clock::time_point now_ = Clock::now();
  std::array<char, 65536> buffer_;
};

int print_free_ports(int count) {
  std::vector<int> held;  // until all are known, else one could be given out twice
  for (int i = 0; i < count; ++i) {
    held.push_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    auto at = loopback(0);
    socklen_t size = sizeof at;
    if (::bind(held.back(), reinterpret_cast<sockaddr*>(&at), size) != 0 ||
        ::getsockname(held.back(), reinterpret_cast<sockaddr*>(&at), &size) != 0) {
      return 1;
    }
    std::printf("%d\n", ntohs(at.sin_port));
  }
  return 0;
}

bool read_options(int argc, char** argv, Options& out, int& free_ports) {
  const std::array<option, 11> known{{{"port", 1, nullptr, 'p'},
                                      {"watch", 1, nullptr, 'w'},
                                      {"cpu", 1, nullptr, 'u'},
                                      {"connections", 1, nullptr, 'c'},
                                      {"seconds", 1, nullptr, 's'},
                                      {"path", 1, nullptr, 'a'},
                                      {"expect", 1, nullptr, 'e'},
                                      {"post", 1, nullptr, 'b'},
                                      {"close", 0, nullptr, 'x'},
                                      {"free-ports", 1, nullptr, 'f'},
                                      {nullptr, 0, nullptr, 0}}};
  for (int key = 0; (key = ::getopt_long(argc, argv, "", known.data(), nullptr)) != -1;) {
    switch (key) {
      case 'p':
        out.port = std::atoi(optarg);
        break;
      case 'w':
        out.watch = std::atoi(optarg);
        break;
      case 'u':
        out.cpu = std::atoi(optarg);
        break;
      case 'c':
        out.connections = std::atoi(optarg);
        break;
      case 's':
        out.seconds = std::atof(optarg);
        break;
      case 'a':
        out.path = optarg;
        break;
      case 'e':
        out.expect = std::strtoul(optarg, nullptr, 10);
        break;
      case 'b':
        out.post = std::strtoul(optarg, nullptr, 10);
        break;
      case 'x':
        out.close = true;
        break;
      case 'f':
        free_ports = std::atoi(optarg);
        break;
      default:
        return false;
    }
  }
  return free_ports > 0 || (out.port > 0 && out.watch > 0 && out.connections > 0);
}

int measure(const Options& options) {
  constexpr auto kOpening = std::chrono::milliseconds(200);
  Load load(options);
  if (!load.open()) {
    std::perror("load: connect");
    return 1;
  }
  load.run(Clock::now() + kOpening);
  const std::uint64_t early_errors = load.errors;
  const std::uint64_t early = load.done;
  const auto tree = bench::tree_of(options.watch);
  load.start_counting();
  const auto before = bench::usage_of(tree);
  const auto cpu_before = bench::usage_of_cpu(options.cpu);
  const auto from = Clock::now();
  load.run(from + std::chrono::duration_cast<Clock::duration>(
                      std::chrono::duration<double>(options.seconds)));
  const auto after = bench::usage_of(tree);
  const auto cpu_after = bench::usage_of_cpu(options.cpu);
  const double seconds = std::chrono::duration<double>(Clock::now() - from).count();
  if (load.done == 0) {
    std::fprintf(stderr, "load: no answer\n");
    return 1;
  }
  const auto done = static_cast<double>(load.done);
  const double used = after.on_cpu_us - before.on_cpu_us;
  const double user = after.user_ticks - before.user_ticks;
  const double system = after.system_ticks - before.system_ticks;
  const double user_share = user + system > 0 ? user / (user + system) : 0;
  const double busy = used / 1e6 / seconds;
  const double cpu_busy = (cpu_after.busy_ticks - cpu_before.busy_ticks) /
                          std::max(1.0, cpu_after.all_ticks - cpu_before.all_ticks);
  std::printf(
      "{\"requests\":%llu,\"answers\":%llu,\"rps\":%.0f,\"errors\":%llu,\"cpu_us\":%.3f,\"user_"
      "us\":%.3f,"
      "\"system_us\":%.3f,\"busy\":%.3f,\"foreign\":%.3f,\"p50_us\":%zu,\"p99_us\":%zu}\n",
      static_cast<unsigned long long>(load.done),
      static_cast<unsigned long long>(early + load.done), done / seconds,
      static_cast<unsigned long long>(load.errors + early_errors), used / done,
      used / done * user_share, used / done * (1 - user_share), busy,
      std::max(0.0, cpu_busy - busy), load.percentile(0.5), load.percentile(0.99));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  int free_ports = 0;
  if (!read_options(argc, argv, options, free_ports)) {
    std::fprintf(stderr, "usage: load --port P --watch PID [...] | load --free-ports N\n");
    return 2;
  }
  return free_ports > 0 ? print_free_ports(free_ports) : measure(options);
}
