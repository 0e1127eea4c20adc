#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "steelyard/io/epoll_reactor.h"
#include "steelyard/io/sockaddr.h"
#include "steelyard/io/socket.h"

namespace steelyard::io {

namespace {

constexpr std::uint32_t kTurnAccepts = 64;

bool any_address(const Address& at) noexcept {
  return std::all_of(at.ip().begin(), at.ip().end(), [](std::uint8_t byte) { return byte == 0; });
}

}  // namespace

class EpollReactor::ListenerHandle final : public Listener, public Pooled {
 public:
  ListenerHandle(EpollReactor& reactor, ListenerSlot& slot) : reactor_(reactor), slot_(slot) {}
  ListenerHandle(const ListenerHandle&) = delete;
  ListenerHandle& operator=(const ListenerHandle&) = delete;
  ~ListenerHandle() override { reactor_.release(slot_); }
  void grant(unsigned n) noexcept override {
    slot_.credit += n;
    if (slot_.acceptable) reactor_.ready_.soon(Kind::kListener, slot_);
  }
  void stop() noexcept override {
    if (slot_.stopping) return;
    slot_.stopping = true;
    // Now, not with the handle: the next owner of the socket may listen on it at once.
    ::epoll_ctl(reactor_.epoll_.get(), EPOLL_CTL_DEL, slot_.fd, nullptr);
    reactor_.ready_.soon(Kind::kListener, slot_);
  }

 private:
  EpollReactor& reactor_;
  ListenerSlot& slot_;
};

std::unique_ptr<Listener> EpollReactor::listen(const Fd& socket, AcceptEvents& events) {
  ListenerSlot& l = listeners_.take();
  l.fd = socket.get();
  l.events = &events;
  const int flags = ::fcntl(l.fd, F_GETFL);
  if (flags >= 0 && (flags & O_NONBLOCK) == 0) ::fcntl(l.fd, F_SETFL, flags | O_NONBLOCK);
  l.local = local_address(socket).value_or({});
  if (any_address(l.local)) l.local = {};
  l.acceptable = true;
  enrol_surely(l.fd, {Kind::kListener, l.index, l.generation});
  return std::unique_ptr<Listener>(new (handles_) ListenerHandle(*this, l));
}

void EpollReactor::release(ListenerSlot& l) noexcept {
  if (!l.stopping) ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, l.fd, nullptr);
  l.events = nullptr;
  l.credit = 0;
  l.turn = 0;
  l.local = {};
  l.queued = l.acceptable = l.paused = l.stopping = l.stopped = false;
  listeners_.give(l);
}

void EpollReactor::service(ListenerSlot& l) {
  if (l.stopped) return;
  if (!l.stopping && !accept_some(l)) return;
  if (l.stopping) {
    l.stopped = true;
    l.events->on_stopped();
  }
}

// False when the listener was destroyed by a callback.
bool EpollReactor::accept_some(ListenerSlot& l) {
  const std::uint32_t generation = l.generation;
  if (l.turn != turn_) {
    l.turn = turn_;
    l.accepted = 0;
  }
  while (l.acceptable && l.credit > 0 && !l.paused && !l.stopping) {
    if (l.accepted >= kTurnAccepts) {
      ready_.next_turn(Kind::kListener, l);
      return true;
    }
    SocketAddress peer;
    const int fd = ::accept4(l.fd, &peer.at.any, &peer.size, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd >= 0) {
      ++l.accepted;
      --l.credit;
      accepted_fd_ = fd;
      accepted_remote_ = from_kernel(peer);
      accepted_local_ = l.local;
      l.events->on_accept(Fd(fd), accepted_remote_);
      accepted_fd_ = -1;
      if (l.generation != generation) return false;
    } else if (errno == EAGAIN) {
      l.acceptable = false;
    } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
      accept_pause_.pause(l, timers_.heap(), now_);
    } else if (errno == EBADF || errno == EINVAL || errno == ENOTSOCK) {
      l.acceptable = false;  // gone, or it does not listen: a wiring mistake, but no reason to spin
    } else {
      ++l.accepted;  // the fault of one connection, which is gone: go on with the next
    }
  }
  return true;
}

void EpollReactor::fd_freed() noexcept {
  if (accept_pause_.waiting()) resume_accepting();
}

void EpollReactor::resume_accepting() {
  accept_pause_.try_again(listeners_, timers_.heap(), now_,
                          [this](ListenerSlot& l) { ready_.soon(Kind::kListener, l); });
}

}  // namespace steelyard::io
