#include "test/rigs/lib/net.h"

#include <arpa/inet.h>
#include <array>
#include <cerrno>
#include <charconv>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace steelyard::rigs {
namespace {

sockaddr_in address_of(const Endpoint& at) {
  sockaddr_in out{};
  out.sin_family = AF_INET;
  out.sin_port = htons(at.port);
  (void)::inet_pton(AF_INET, at.host.c_str(), &out.sin_addr);
  return out;
}

void no_delay(int fd) {
  const int on = 1;
  (void)::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

}  // namespace

Endpoint endpoint_of(std::string_view text) {
  Endpoint out;
  const auto colon = text.rfind(':');
  if (colon != std::string_view::npos && colon > 0) out.host = text.substr(0, colon);
  if (colon != std::string_view::npos) text.remove_prefix(colon + 1);
  (void)std::from_chars(text.data(), text.data() + text.size(), out.port);
  return out;
}

int listen_on(const Endpoint& at, int backlog) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  const int on = 1;
  (void)::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  const auto address = address_of(at);
  if (::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(fd, backlog) != 0) {
    const int error = errno;
    ::close(fd);
    errno = error;
    return -1;
  }
  return fd;
}

std::uint16_t port_of(int fd) {
  sockaddr_in at{};
  socklen_t size = sizeof at;
  (void)::getsockname(fd, reinterpret_cast<sockaddr*>(&at), &size);
  return ntohs(at.sin_port);
}

std::uint16_t free_port() {
  const int fd = listen_on({});
  const auto port = port_of(fd);
  ::close(fd);
  return port;
}

int start_connect(const Endpoint& to, const std::string& from) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  no_delay(fd);
  if (!from.empty()) {
    const int on = 1;
    (void)::setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on);
    const auto local = address_of({from, 0});
    (void)::bind(fd, reinterpret_cast<const sockaddr*>(&local), sizeof local);
  }
  const auto address = address_of(to);
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 ||
      errno == EINPROGRESS) {
    return fd;
  }
  const int error = errno;
  ::close(fd);
  errno = error;
  return -1;
}

int connect_now(const Endpoint& to, std::chrono::milliseconds timeout) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  no_delay(fd);
  const timeval limit{timeout.count() / 1000, timeout.count() % 1000 * 1000};
  (void)::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  (void)::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  const auto address = address_of(to);
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return fd;
  ::close(fd);
  return -1;
}

void reset_on_close(int fd) {
  const linger hard{1, 0};
  (void)::setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
}

std::shared_ptr<Wire> Wire::adopt(Loop& loop, int fd) {
  no_delay(fd);
  return std::make_shared<Wire>(loop, fd, false);
}

std::shared_ptr<Wire> Wire::dial(Loop& loop, const Endpoint& to, const std::string& from) {
  const int fd = start_connect(to, from);
  const int error = errno;
  auto wire = std::make_shared<Wire>(loop, fd, true);
  if (fd < 0) {
    loop.later([weak = std::weak_ptr(wire), error] {
      if (const auto self = weak.lock(); self && self->on.end) self->on.end(error);
    });
  }
  return wire;
}

Wire::Wire(Loop& loop, int fd, bool connecting) : loop_(loop), fd_(fd), connecting_(connecting) {
  if (fd_ < 0) return;
  watched_ = connecting_ ? EPOLLOUT : EPOLLIN;
  loop_.add(fd_, watched_, [this](std::uint32_t events) { ready(events); });
}

void Wire::ready(std::uint32_t events) {
  const auto self = shared_from_this();
  if (connecting_) {
    int error = 0;
    socklen_t size = sizeof error;
    (void)::getsockopt(fd_, SOL_SOCKET, SO_ERROR, &error, &size);
    if (error != 0) return fail(error);
    connecting_ = false;
    if (on.connected) on.connected();
  } else if ((events & (EPOLLIN | EPOLLERR | EPOLLHUP)) != 0 && !saw_end_) {
    read();
  }
  if (open() && queued() > 0) flush();
  if (open()) watch();
}

void Wire::read() {
  std::array<char, 65536> buffer;
  for (int rounds = 0; rounds < 4 && open() && reading_ && !saw_end_; ++rounds) {
    const ssize_t got = ::recv(fd_, buffer.data(), buffer.size(), 0);
    if (got < 0 && errno == EAGAIN) return;
    if (got < 0) return fail(errno);
    if (got == 0) {
      saw_end_ = true;
      if (on.end) on.end(0);
      return;
    }
    if (on.bytes) on.bytes({buffer.data(), static_cast<std::size_t>(got)});
  }
}

void Wire::send(std::string_view bytes) {
  if (!open() || shut_) return;
  out_.append(bytes);
  if (connecting_) return;
  const auto self = shared_from_this();
  flush();
  if (open()) watch();
}

void Wire::flush() {
  while (queued() > 0) {
    const ssize_t sent = ::send(fd_, out_.data() + out_at_, queued(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EAGAIN) return;
    if (sent < 0) return fail(errno);
    out_at_ += static_cast<std::size_t>(sent);
  }
  out_.clear();
  out_at_ = 0;
  if (shut_) (void)::shutdown(fd_, SHUT_WR);
  if (on.drained) on.drained();
}

void Wire::shutdown_write() {
  if (!open() || shut_) return;
  shut_ = true;
  if (queued() == 0 && !connecting_) (void)::shutdown(fd_, SHUT_WR);
}

void Wire::read_on(bool wanted) {
  reading_ = wanted;
  if (open()) watch();
}

void Wire::watch() {
  std::uint32_t wanted = 0;
  if (connecting_ || queued() > 0) wanted |= EPOLLOUT;
  if (!connecting_ && reading_ && !saw_end_) wanted |= EPOLLIN;
  if (wanted == watched_) return;
  watched_ = wanted;
  loop_.change(fd_, wanted);
}

void Wire::close() {
  if (!open()) return;
  loop_.remove(fd_);
  ::close(fd_);
  fd_ = -1;
}

void Wire::reset() {
  if (!open()) return;
  reset_on_close(fd_);
  close();
}

void Wire::fail(int error) {
  close();
  if (on.end) on.end(error);
}

}  // namespace steelyard::rigs
