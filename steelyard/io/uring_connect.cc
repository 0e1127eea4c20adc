#include <cerrno>
#include <netinet/tcp.h>

#include "steelyard/io/uring_reactor.h"

namespace steelyard::io {

// Prepares it, or leaves the failure in the slot; the callback always comes later (R1).
void UringReactor::start_connect(StreamSlot& s, const Address& to) {
  const auto give_up = [&](int error) {
    s.connecting = false;
    s.broken = error;
    // Not this turn: a caller that tries again at once must not hold the loop.
    ready_.next_turn(Kind::kStream, s);
  };
  if (!to.valid()) return give_up(EADDRNOTAVAIL);
  const SocketAddress at = to_kernel(to);
  s.fd = Fd(open_socket(at.at.any.sa_family));
  if (!s.fd.valid()) return give_up(errno);
  const int on = 1;
  ::setsockopt(s.fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  s.op = &ops_.take();
  s.op->address = at;
  want(Kind::kStream, s);
}

int UringReactor::open_socket(int family) {
  constexpr int kType = SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC;
  const int fd = ::socket(family, kType, 0);
  if (fd >= 0 || (errno != EMFILE && errno != ENFILE)) return fd;
  // Some may wait in the ring to be closed.
  (void)ring_->enter(0, Duration::zero());
  const int again = ::socket(family, kType, 0);
  if (again >= 0 || (errno != EMFILE && errno != ENFILE) || !accept_pause_.holds_reserve())
    return again;
  // Accepting took the last descriptor: what was accepted must still reach its node.
  accept_pause_.give_up_reserve();
  return ::socket(family, kType, 0);
}

void UringReactor::on_connected(StreamSlot& s, std::int32_t result) {
  free_op(s);
  if (!completed(s) || !s.connecting) return;  // gone, or too late
  timers_.heap().cancel(s.connect_timer);
  s.connecting = false;
  if (result < 0) return fail(s, -result);
  s.opening = true;
  service(s);
}

}  // namespace steelyard::io
