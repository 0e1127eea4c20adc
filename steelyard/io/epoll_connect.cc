#include <cerrno>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "steelyard/io/epoll_reactor.h"
#include "steelyard/io/sockaddr.h"
#include "steelyard/io/socket.h"

namespace steelyard::io {

// Starts it and leaves the outcome in the slot; the callback always comes later (R1).
void EpollReactor::start_connect(StreamSlot& s, const Address& to) {
  const auto give_up = [&](int error) {
    s.connecting = false;
    s.broken = error;
    ready_.next_turn(Kind::kStream,
                     s);  // not this turn: a caller that tries again at once must not hold the loop
  };
  if (!to.valid()) return give_up(EADDRNOTAVAIL);
  const SocketAddress at = to_kernel(to);
  s.fd = Fd(open_socket(at.at.any.sa_family));
  if (!s.fd.valid()) return give_up(errno);
  const int on = 1;
  ::setsockopt(s.fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (::connect(s.fd.get(), &at.at.any, at.size) == 0) {
    s.connecting = false;
    s.opening = s.writable = true;
    ready_.soon(Kind::kStream, s);
    return;
  }
  if (errno != EINPROGRESS) return give_up(errno);
  s.registered = true;
  if (!enrol(s.fd.get(), EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET,
             {Kind::kStream, s.index, s.generation})) {
    s.registered = false;
    give_up(errno);
  }
}

int EpollReactor::open_socket(int family) {
  constexpr int kType = SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC;
  const int fd = ::socket(family, kType, 0);
  if (fd >= 0 || (errno != EMFILE && errno != ENFILE) || !accept_pause_.holds_reserve()) return fd;
  // Accepting took the last descriptor: what was accepted must still reach its node.
  accept_pause_.give_up_reserve();
  return ::socket(family, kType, 0);
}

// An event came for a connecting socket: it is open, or it failed.
void EpollReactor::finish_connect(StreamSlot& s) {
  if (!s.writable && !s.to_end) return;
  int error = 0;
  socklen_t size = sizeof error;
  if (::getsockopt(s.fd.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
  timers_.heap().cancel(s.connect_timer);
  s.connecting = false;
  s.error = false;
  if (error != 0) {
    s.broken = error;
    return;
  }
  s.opening = true;
}

}  // namespace steelyard::io
