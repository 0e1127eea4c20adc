// A node for the proxy benchmark: answers each request at once from memory, as cheaply as one
// thread can. Paths: /64 /16k /1m; any other gets 64 bytes. Request bodies are read and dropped.
//
//   backend PORTS      listens on PORTS free loopback ports and prints them, one a line
//
// Handles what its load generator sends (Content-Length, no chunks, no pipelining beyond order);
// it is no server for anybody else.
#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
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

namespace {

constexpr std::size_t kMostConnections = 16384;
constexpr std::size_t kHeadRoom = 8192;
constexpr std::uint32_t kInterest = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;

struct Connection {
  std::string partial;         // the beginning of a head whose end has not come
  std::size_t body_left = 0;   // request bytes still to drop
  std::string_view answering;  // not yet taken by the kernel
  std::string_view next;       // the answer due when the request's body has come
  bool close_after = false;
};

struct Answers {
  std::string small, middle, large;
};

std::string answer(std::size_t size) {
  std::string text =
      "HTTP/1.1 200 OK\r\nServer: node\r\nContent-Type: text/plain\r\nContent-Length: ";
  return text + std::to_string(size) + "\r\n\r\n" + std::string(size, 'x');
}

// The value of a field in a head, without the blanks before it; empty when it is not there.
std::string_view field(std::string_view head, std::string_view name) {
  for (auto at = head.find("\r\n"); at != std::string_view::npos; at = head.find("\r\n", at + 2)) {
    const auto line = head.substr(at + 2);
    if (line.size() <= name.size() || line[name.size()] != ':') continue;
    if (::strncasecmp(line.data(), name.data(), name.size()) != 0) continue;
    auto value = line.substr(name.size() + 1, line.find("\r\n") - name.size() - 1);
    value.remove_prefix(std::min(value.find_first_not_of(' '), value.size()));
    return value;
  }
  return {};
}

class Backend {
 public:
  bool open(int ports) {
    epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
    for (int i = 0; i < ports; ++i) {
      const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
      const int on = 1;
      ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);  // accepted sockets inherit it
      sockaddr_in at{};
      at.sin_family = AF_INET;
      at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      socklen_t size = sizeof at;
      if (::bind(fd, reinterpret_cast<sockaddr*>(&at), size) != 0 || ::listen(fd, 4096) != 0 ||
          ::getsockname(fd, reinterpret_cast<sockaddr*>(&at), &size) != 0) {
        return false;
      }
      enrol(fd, EPOLLIN);
      listeners_.push_back(fd);
      std::printf("%d\n", ntohs(at.sin_port));
    }
    return std::fflush(stdout) == 0;
  }

  [[noreturn]] void run() {
    std::array<epoll_event, 256> batch;
    for (;;) {
      const int count = ::epoll_wait(epoll_, batch.data(), static_cast<int>(batch.size()), -1);
      for (int i = 0; i < count; ++i) {
        const epoll_event& event = batch[static_cast<std::size_t>(i)];
        const int fd = event.data.fd;
        if (std::find(listeners_.begin(), listeners_.end(), fd) != listeners_.end()) {
          accept_all(fd);
        } else if (auto& connection = connections_[static_cast<std::size_t>(fd)];
                   connection != nullptr && !serve(fd, *connection, event.events)) {
          connection.reset();
          ::close(fd);
        }
      }
    }
  }

 private:
  void enrol(int fd, std::uint32_t events) const {
    epoll_event event{};
    event.events = events;
    event.data.fd = fd;
    ::epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event);
  }

  void accept_all(int listener) {
    for (;;) {
      const int fd = ::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
      if (fd < 0) return;
      if (static_cast<std::size_t>(fd) >= kMostConnections) {
        ::close(fd);
        continue;
      }
      connections_[static_cast<std::size_t>(fd)] = std::make_unique<Connection>();
      enrol(fd, kInterest);
    }
  }

  // False when the connection is over.
  bool serve(int fd, Connection& c, std::uint32_t events) {
    if (!c.answering.empty() && !flush(fd, c)) return false;
    if ((events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR)) == 0) return true;
    for (;;) {
      const ssize_t got = ::recv(fd, buffer_.data(), buffer_.size(), 0);
      if (got == 0) return false;
      if (got < 0) return errno == EAGAIN;
      if (!take(fd, c, {buffer_.data(), static_cast<std::size_t>(got)})) return false;
      if (static_cast<std::size_t>(got) < buffer_.size() && (events & EPOLLRDHUP) == 0) return true;
    }
  }

  bool take(int fd, Connection& c, std::string_view bytes) {
    std::string joined;
    while (!bytes.empty()) {
      if (c.body_left > 0) {
        const auto part = std::min(c.body_left, bytes.size());
        c.body_left -= part;
        bytes.remove_prefix(part);
      } else {
        if (!c.partial.empty()) {
          joined = std::exchange(c.partial, {}).append(bytes);
          bytes = joined;
        }
        const auto end = bytes.find("\r\n\r\n");
        if (end == std::string_view::npos) {
          c.partial = bytes;
          return c.partial.size() < kHeadRoom;
        }
        read_head(c, bytes.substr(0, end + 2));
        bytes.remove_prefix(end + 4);
      }
      if (c.body_left > 0) continue;
      if (!c.answering.empty()) return false;  // pipelined behind an answer that is stuck
      c.answering = c.next;
      if (!flush(fd, c)) return false;
    }
    return true;
  }

  void read_head(Connection& c, std::string_view head) const {
    const auto path = head.substr(head.find(' ') + 1);
    c.next = path.starts_with("/1m")    ? answers_.large
             : path.starts_with("/16k") ? answers_.middle
                                        : answers_.small;
    if (!head.starts_with("GET")) {
      c.body_left = std::strtoul(std::string(field(head, "content-length")).c_str(), nullptr, 10);
    }
    c.close_after = field(head, "connection").starts_with("close");
  }

  static bool flush(int fd, Connection& c) {
    while (!c.answering.empty()) {
      const ssize_t sent = ::send(fd, c.answering.data(), c.answering.size(), MSG_NOSIGNAL);
      if (sent < 0) return errno == EAGAIN;
      c.answering.remove_prefix(static_cast<std::size_t>(sent));
    }
    return !c.close_after;
  }

  int epoll_ = -1;
  std::vector<int> listeners_;
  std::vector<std::unique_ptr<Connection>> connections_{kMostConnections};
  const Answers answers_{answer(64), answer(16384), answer(1048576)};
  std::array<char, 65536> buffer_;
};

}  // namespace

int main(int argc, char** argv) {
  const int ports = argc == 2 ? std::atoi(argv[1]) : 0;
  if (ports < 1) {
    std::fprintf(stderr, "usage: backend PORTS\n");
    return 2;
  }
  const auto backend = std::make_unique<Backend>();
  if (!backend->open(ports)) {
    std::perror("backend");
    return 1;
  }
  backend->run();
}
