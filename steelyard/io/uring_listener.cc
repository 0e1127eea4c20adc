#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sys/socket.h>

#include "steelyard/io/socket.h"
#include "steelyard/io/uring_reactor.h"

namespace steelyard::io {

namespace {

bool any_address(const Address& at) noexcept {
  return std::all_of(at.ip().begin(), at.ip().end(), [](std::uint8_t byte) { return byte == 0; });
}

// What waits in a listener's queue (which never blocks), if anything.
Fd take_waiting(int listener, SocketAddress& from) noexcept {
  from.size = sizeof from.at;
  return Fd(::accept4(listener, &from.at.any, &from.size, SOCK_NONBLOCK | SOCK_CLOEXEC));
}

}  // namespace

class UringReactor::ListenerHandle final : public Listener, public Pooled {
 public:
  ListenerHandle(UringReactor& reactor, ListenerSlot& slot) : reactor_(reactor), slot_(slot) {}
  ListenerHandle(const ListenerHandle&) = delete;
  ListenerHandle& operator=(const ListenerHandle&) = delete;
  ~ListenerHandle() override { reactor_.release(slot_); }
  void grant(unsigned n) noexcept override {
    slot_.credit += n;
    reactor_.want(Kind::kListener, slot_);
  }
  void stop() noexcept override { reactor_.stop(slot_); }

 private:
  UringReactor& reactor_;
  ListenerSlot& slot_;
};

std::unique_ptr<Listener> UringReactor::listen(const Fd& socket, AcceptEvents& events) {
  ListenerSlot& l = listeners_.take();
  l.fd = socket.get();
  l.events = &events;
  l.local = local_address(socket).value_or({});
  if (any_address(l.local)) l.local = {};
  return std::unique_ptr<Listener>(new (handles_) ListenerHandle(*this, l));
}

void UringReactor::stop(ListenerSlot& l) {
  if (std::exchange(l.stopping, true)) return;
  for (const Op* const op : l.accepts) {
    if (op != nullptr) cancel(name(Kind::kAccept, op->index, op->generation));
  }
  if (l.outstanding == 0) ready_.soon(Kind::kListener, l);
}

void UringReactor::release(ListenerSlot& l) noexcept {
  if (!l.stopping) stop(l);
  l.accepts = {};  // they find no listener when they complete
  l.outstanding = 0;
  l.events = nullptr;
  l.credit = 0;
  l.local = {};
  l.wanted = l.queued = l.paused = l.broken = l.stopping = l.stopped = false;
  listeners_.give(l);
}

void UringReactor::queue(ListenerSlot& l) {
  l.wanted = false;
  if (l.stopping || l.paused || l.broken) return;
  for (Op*& place : l.accepts) {
    if (l.outstanding >= l.credit) return;
    if (place != nullptr) continue;
    place = &ops_.take();
    place->owner = l.index;
    place->owner_generation = l.generation;
    place->address = {};
    io_uring_sqe& sqe =
        entry(IORING_OP_ACCEPT, l.fd, name(Kind::kAccept, place->index, place->generation));
    sqe.addr = reinterpret_cast<std::uint64_t>(&place->address.at);
    sqe.addr2 = reinterpret_cast<std::uint64_t>(&place->address.size);
    sqe.accept_flags = SOCK_NONBLOCK | SOCK_CLOEXEC;
    ++l.outstanding;
    ++operations_;
  }
}

void UringReactor::service(ListenerSlot& l) {
  if (!l.stopping || l.outstanding > 0 || l.stopped) return;
  l.stopped = true;
  l.events->on_stopped();
}

void UringReactor::on_accepted(Op& op, std::int32_t result) {
  --operations_;
  ListenerSlot* const l = listeners_.find(op.owner, op.owner_generation);
  Fd socket(result);
  // A connection wakes one accept of all who share the socket. If it was this one, and stopping
  // took it back, nobody else is told.
  if (l != nullptr && l->stopping && result == -ECANCELED) {
    socket = take_waiting(l->fd, op.address);
  }
  const Address remote = socket.valid() ? from_kernel(op.address) : Address{};
  if (l != nullptr) {
    *std::find(l->accepts.begin(), l->accepts.end(), &op) = nullptr;
    --l->outstanding;
  }
  ops_.give(op);
  if (l == nullptr) return;
  const std::uint32_t generation = l->generation;
  want(Kind::kListener, *l);
  if (socket.valid()) {
    --l->credit;
    accepted_fd_ = socket.get();
    accepted_remote_ = remote;
    accepted_local_ = l->local;
    l->events->on_accept(std::move(socket), remote);
    accepted_fd_ = -1;
  } else if (result == -EMFILE || result == -ENFILE || result == -ENOBUFS || result == -ENOMEM) {
    if (!l->stopping) accept_pause_.pause(*l, timers_.heap(), now_);
  } else if (result == -EBADF || result == -EINVAL || result == -ENOTSOCK ||
             result == -EOPNOTSUPP) {
    // Gone, or it does not listen: a wiring mistake, but no reason to spin.
    l->broken = true;
  }
  if (l->generation == generation) service(*l);
}

void UringReactor::fd_freed() noexcept {
  if (accept_pause_.waiting()) resume_accepting();
}

void UringReactor::resume_accepting() {
  accept_pause_.try_again(listeners_, timers_.heap(), now_,
                          [this](ListenerSlot& l) { want(Kind::kListener, l); });
}

}  // namespace steelyard::io
