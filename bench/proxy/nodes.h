// The nodes of the proxy benchmark: three ports that answer each request at once from memory.
// Paths: /64 /1k /16k /1m; any other (health checks) gets 64 bytes. Request bodies are dropped.
//
// They take what the benchmark sends through a proxy (Content-Length, no chunks, no pipelining);
// they are no server for anybody else. Large answers leave by sendfile, so that this processor
// copies nothing.
#pragma once

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <memory>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string>
#include <string_view>
#include <strings.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include "ring.h"

namespace bench {

class Nodes {
 public:
  explicit Nodes(Ring& ring) : ring_(ring) {
    for (const std::size_t size : {64u, 1024u, 16384u})
      answers_.push_back(head(size) + std::string(size, 'x'));
    large_head_ = head(kLarge);
    large_body_ = ::memfd_create("body", MFD_CLOEXEC);
    const std::string body(kLarge, 'x');
    if (::write(large_body_, body.data(), body.size()) != static_cast<ssize_t>(kLarge))
      std::abort();
  }

  // Gives the port, 0 when there is none.
  int listen() {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int on = 1;
    ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);  // accepted sockets inherit it
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof at;
    if (::bind(fd, reinterpret_cast<sockaddr*>(&at), size) != 0 || ::listen(fd, 4096) != 0 ||
        ::getsockname(fd, reinterpret_cast<sockaddr*>(&at), &size) != 0) {
      return 0;
    }
    accept_from(fd);
    return ntohs(at.sin_port);
  }

  // The size of request bodies to come: connections that are open change their receive buffers.
  void expect_bodies(std::size_t bytes) {
    const auto group = bytes > 1024 ? kMiddle : kSmall;
    if (group == group_) return;
    group_ = group;
    for (auto& c : connections_) {
      if (c != nullptr) ring_.cancel(tag(Kind::kNode, *c));  // armed again when that completes
    }
  }

  void on_accept(const io_uring_cqe& cqe, int listener) {
    if ((cqe.flags & IORING_CQE_F_MORE) == 0) accept_from(listener);
    if (cqe.res < 0) return;
    const auto fd = static_cast<std::size_t>(cqe.res);
    if (fd >= connections_.size()) connections_.resize(fd + 1024);
    connections_[fd] = std::make_unique<Connection>();
    connections_[fd]->fd = cqe.res;
    connections_[fd]->generation = ++generations_;
    arm(*connections_[fd]);
  }

  void on_bytes(const io_uring_cqe& cqe, Tag of) {
    Connection* const c = find(of);
    if (c == nullptr) return ring_.give_back(of.group, cqe);
    if (cqe.res == -ENOBUFS || cqe.res == -ECANCELED) return arm(*c);
    const bool more = (cqe.flags & IORING_CQE_F_MORE) != 0;
    bool live = cqe.res > 0;
    if (live) live = take(*c, {ring_.text(of.group, cqe), static_cast<std::size_t>(cqe.res)});
    ring_.give_back(of.group, cqe);
    if (!live) return close(*c, more);
    if (!more) arm(*c);
  }

  void on_send_failed(Tag of) {
    if (Connection* const c = find(of)) close(*c, true);
  }

  void on_room(Tag of) {
    if (Connection* const c = find(of); c != nullptr && !send_large(*c)) close(*c, true);
  }

 private:
  static constexpr std::size_t kLarge = 1048576;
  static constexpr std::size_t kHeadRoom = 16384;

  struct Connection {
    int fd = -1;
    unsigned generation = 0;
    Group group = kSmall;
    std::string partial;        // the beginning of a head whose end has not come
    std::size_t body_left = 0;  // request bytes still to drop
    int answer = 0;             // due when the request's body has come
    std::size_t large_left = 0;
    bool close_after = false;
  };

  static std::string head(std::size_t size) {
    return "HTTP/1.1 200 OK\r\nServer: node\r\nContent-Type: text/plain\r\nContent-Length: " +
           std::to_string(size) + "\r\n\r\n";
  }
  static Tag tag(Kind kind, const Connection& c) {
    return {kind, static_cast<unsigned>(c.fd), c.generation, c.group};
  }
  Connection* find(Tag of) {
    if (of.index >= connections_.size() || connections_[of.index] == nullptr) return nullptr;
    Connection& c = *connections_[of.index];
    return (c.generation & Tag::kGenerations) == of.generation ? &c : nullptr;
  }
  void accept_from(int listener) {
    auto* const sqe = ring_.entry({Kind::kAccept, static_cast<unsigned>(listener)});
    io_uring_prep_multishot_accept(sqe, listener, nullptr, nullptr, SOCK_CLOEXEC);
    ring_.name(sqe);
  }
  void arm(Connection& c) {
    c.group = group_;
    ring_.receive_many(c.fd, tag(Kind::kNode, c));
  }

  // A receive that is armed holds the socket open: it ends by the shutdown, and finds nobody.
  void close(Connection& c, bool armed) {
    ring_.flush();  // nothing may be submitted for a descriptor that is another's by then
    if (armed) ::shutdown(c.fd, SHUT_RDWR);
    ::close(c.fd);
    connections_[static_cast<std::size_t>(c.fd)].reset();
  }

  // False when the connection is over.
  bool take(Connection& c, std::string_view bytes) {
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
        const auto end = find_in(bytes, "\r\n\r\n");
        if (end == std::string_view::npos) {
          c.partial = bytes;
          return c.partial.size() < kHeadRoom;
        }
        read_head(c, bytes.substr(0, end + 2));
        bytes.remove_prefix(end + 4);
      }
      if (c.body_left == 0 && !respond(c)) return false;
    }
    return true;
  }

  static std::size_t find_in(std::string_view text, std::string_view what) {
    const void* const at = ::memmem(text.data(), text.size(), what.data(), what.size());
    return at == nullptr ? std::string_view::npos
                         : static_cast<std::size_t>(static_cast<const char*>(at) - text.data());
  }

  static void read_head(Connection& c, std::string_view head) {
    const auto path = head.substr(head.find(' ') + 1, 5);
    c.answer = path.starts_with("/1m ")    ? 3
               : path.starts_with("/16k ") ? 2
               : path.starts_with("/1k ")  ? 1
                                           : 0;
    if (head[0] != 'G') {
      constexpr std::string_view kName = "\ncontent-length:";
      for (auto at = head.find('\n'); at != std::string_view::npos; at = head.find('\n', at + 1)) {
        if (head.size() - at <= kName.size() ||
            ::strncasecmp(head.data() + at, kName.data(), kName.size()) != 0) {
          continue;
        }
        c.body_left = std::strtoul(head.data() + at + kName.size(), nullptr, 10);
        break;
      }
    }
    c.close_after = find_in(head, "onnection: close") != std::string_view::npos;
  }

  bool respond(Connection& c) {
    if (c.answer == 3) {
      if (::send(c.fd, large_head_.data(), large_head_.size(),
                 MSG_MORE | MSG_NOSIGNAL | MSG_DONTWAIT) !=
          static_cast<ssize_t>(large_head_.size())) {
        return false;
      }
      c.large_left = kLarge;
      return send_large(c);
    }
    const auto& text = answers_[static_cast<std::size_t>(c.answer)];
    if (!c.close_after) {
      ring_.send(c.fd, text.data(), text.size(), tag(Kind::kNodeSend, c));
      return true;
    }
    (void)::send(c.fd, text.data(), text.size(), MSG_NOSIGNAL);
    return false;
  }

  // The descriptor is non-blocking only during the call: a receive of the ring would fail instead
  // of waiting on such a socket.
  bool send_large(Connection& c) {
    const int flags = O_RDWR;
    ::fcntl(c.fd, F_SETFL, flags | O_NONBLOCK);
    bool full = false;
    while (c.large_left > 0 && !full) {
      off_t from = static_cast<off_t>(kLarge - c.large_left);
      const ssize_t sent = ::sendfile(c.fd, large_body_, &from, c.large_left);
      if (sent < 0 && errno != EAGAIN) return false;
      if (sent < 0) full = true;
      if (sent > 0) c.large_left -= static_cast<std::size_t>(sent);
    }
    ::fcntl(c.fd, F_SETFL, flags);
    if (c.large_left > 0) {
      auto* const sqe = ring_.entry(tag(Kind::kNodeRoom, c));
      io_uring_prep_poll_add(sqe, c.fd, POLLOUT);
      ring_.name(sqe);
    }
    return c.large_left > 0 || !c.close_after;
  }

  Ring& ring_;
  std::vector<std::string> answers_;
  std::string large_head_;
  int large_body_ = -1;
  std::vector<std::unique_ptr<Connection>> connections_;
  Group group_ = kSmall;
  unsigned generations_ = 0;
};

}  // namespace bench
