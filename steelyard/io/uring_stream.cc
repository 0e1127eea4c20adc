#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstring>
#include <limits>
#include <new>
#include <poll.h>

#include "steelyard/io/errors.h"
#include "steelyard/io/socket.h"
#include "steelyard/io/uring_reactor.h"

namespace steelyard::io {

namespace {

constexpr std::size_t kMost = std::numeric_limits<std::size_t>::max();
// Received into instead of a ring buffer; each with its header a whole size class of slabs.
constexpr std::size_t kBulkSpace = (std::size_t{256} << 10) - 64;
constexpr std::size_t kDirectSpace = (std::size_t{16} << 10) - 64;

}  // namespace

UringReactor::StreamSlot& UringReactor::take_stream(StreamEvents& events) {
  StreamSlot& s = streams_.take();
  s.events = &events;
  s.connect_timer.owner = s.index;
  s.connect_timer.generation = s.generation;
  s.connect_timer.kind = static_cast<std::uint8_t>(Kind::kStream);
  ++live_streams_;
  return s;
}

std::unique_ptr<Stream> UringReactor::adopt(Fd socket, StreamEvents& events) {
  StreamSlot& s = take_stream(events);
  if (socket.valid() && socket.get() == accepted_fd_) {
    s.remote = accepted_remote_;
    s.local = accepted_local_;
  }
  if (!s.remote.valid()) s.remote = peer_address(socket).value_or({});
  if (!s.local.valid()) s.local = local_address(socket).value_or({});
  s.fd = std::move(socket);
  s.opening = true;
  ready_.soon(Kind::kStream, s);
  return std::unique_ptr<Stream>(new (s) StreamHandle(*this, s));
}

std::unique_ptr<Stream> UringReactor::connect(const Address& to, const ConnectOptions& options,
                                              StreamEvents& events) {
  StreamSlot& s = take_stream(events);
  s.ours = true;
  s.remote = to;
  s.connecting = true;
  start_connect(s, to);
  if (s.connecting) timers_.heap().set(s.connect_timer, now() + options.timeout);
  return std::unique_ptr<Stream>(new (s) StreamHandle(*this, s));
}

void UringReactor::release(StreamSlot& s) noexcept {
  const bool connecting = s.op != nullptr && !s.sending_out;
  const bool clean = s.failed || !s.fd.valid() || connecting || (s.end_wanted && s.out.empty());
  if (!clean) {
    const linger reset{1, 0};
    ::setsockopt(s.fd.get(), SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
  }
  if (s.receiving) cancel(name(Kind::kReceive, s.index, s.generation));
  if (s.polling) cancel(name(Kind::kPoll, s.index, s.generation));
  if (s.sending_out && !s.quick) cancel(name(Kind::kSend, s.index, s.generation));
  if (connecting && s.outstanding > 0) cancel(name(Kind::kConnect, s.index, s.generation));
  const bool held = s.fd.valid();
  // Whoever waits for a descriptor needs it now, not with the next submission.
  if (accept_pause_.waiting()) {
    s.fd.reset();
  } else {
    close(std::move(s.fd));
  }
  timers_.heap().remove(s.connect_timer);
  buffers_.forget(s.pins);
  s.pins = 0;
  s.gone = true;
  s.events = nullptr;
  --live_streams_;
  if (s.outstanding == 0) free(s);
  if (held) fd_freed();
}

void UringReactor::free(StreamSlot& s) noexcept {
  if (s.op != nullptr) free_op(s);
  s.out.clear();
  s.broken = 0;
  s.credit = s.unsent = 0;
  s.sending = 0;
  s.remote = s.local = {};
  s.gone = s.wanted = s.queued = s.ours = s.connecting = s.opening = s.opened = false;
  s.receiving = s.sending_out = s.quick = s.slow = s.quick_failed = s.polling = false;
  s.fin_behind = s.hung_up = s.poll_first = s.full = s.in_bulk = false;
  s.ended = s.end_wanted = s.end_sent = s.failed = false;
  streams_.give(s);
}

bool UringReactor::completed(StreamSlot& s) noexcept {
  --operations_;
  --s.outstanding;
  if (!s.gone) return true;
  if (s.outstanding == 0) free(s);
  return false;
}

void UringReactor::grant(StreamSlot& s, std::size_t bytes) {
  s.credit = bytes > kMost - s.credit ? kMost : s.credit + bytes;
  if (!s.receiving) want(Kind::kStream, s);
}

// What the kernel should do for it next.
void UringReactor::queue(StreamSlot& s) {
  s.wanted = false;
  if (s.gone || s.failed) return;
  if (s.connecting) {
    if (s.outstanding > 0) return;
    io_uring_sqe& sqe =
        entry(IORING_OP_CONNECT, s.fd.get(), name(Kind::kConnect, s.index, s.generation));
    sqe.addr = reinterpret_cast<std::uint64_t>(&s.op->address.at);
    sqe.off = s.op->address.size;
    ++s.outstanding;
    ++operations_;
    return;
  }
  if (!s.opened) return;
  if (s.broken == 0 && !s.sending_out) {
    if (!s.out.empty()) {
      queue_send(s);
    } else if (s.end_wanted && !s.end_sent) {
      s.end_sent = true;
      // Not through the ring: there it goes to a helper thread.
      ::shutdown(s.fd.get(), SHUT_WR);
    }
  }
  if (s.receiving || s.in_bulk) return;
  if (!s.ended && s.credit > 0) {
    if (s.full) {
      s.in_bulk = true;
      bulk_.push_back({Kind::kStream, s.index, s.generation});
      return;
    }
    queue_receive(s);
  } else if (!s.polling && !s.hung_up && !(s.ended && s.end_sent)) {
    queue_poll(s);
  }
}

void UringReactor::service(StreamSlot& s) {
  if (s.gone || s.failed) return;
  if (s.broken != 0 && !s.opened) return fail(s, s.broken);
  if (s.opening && !open(s)) return;
  if (sends_directly(s)) return send_directly(s);
  want(Kind::kStream, s);
}

bool UringReactor::open(StreamSlot& s) {
  const std::uint32_t generation = s.generation;
  s.opening = false;
  s.opened = true;
  PeerInfo peer;
  peer.remote = s.remote;
  peer.local = s.local;
  s.events->on_open(peer);
  return lives(s, generation);
}

void UringReactor::queue_receive(StreamSlot& s) {
  io_uring_sqe& sqe =
      entry(IORING_OP_RECV, s.fd.get(), name(Kind::kReceive, s.index, s.generation));
  sqe.flags = IOSQE_BUFFER_SELECT;
  sqe.buf_group = kUringBufferGroup;
  sqe.len = static_cast<std::uint32_t>(std::min(s.credit, buffers_.size()));
  if (s.poll_first) sqe.ioprio = IORING_RECVSEND_POLL_FIRST;
  s.poll_first = false;
  s.receiving = true;
  ++s.outstanding;
  ++operations_;
}

void UringReactor::on_received(StreamSlot& s, const io_uring_cqe& completion) {
  const bool in_ring = (completion.flags & IORING_CQE_F_BUFFER) != 0;
  const auto id = static_cast<std::uint16_t>(completion.flags >> IORING_CQE_BUFFER_SHIFT);
  const std::int32_t result = completion.res;
  s.receiving = false;
  const bool wants = completed(s) && !s.failed;
  if (in_ring && (!wants || result <= 0)) buffers_.unneeded(id);
  if (!wants) return;
  if (result > 0) {
    const auto size = static_cast<std::size_t>(result);
    s.full = size == buffers_.size();
    return deliver(s, buffers_.lend(id, size, s.pins));
  }
  if (result == 0) return deliver_end(s);
  if (result == -ENOBUFS) {
    buffers_.missed();
    return receive_directly(s, kDirectSpace);
  }
  if (result == -EAGAIN || result == -EINTR || result == -ECANCELED) {
    return want(Kind::kStream, s);
  }
  fail(s, s.broken != 0 ? s.broken : -result);
}

void UringReactor::deliver(StreamSlot& s, Buf bytes) {
  const std::uint32_t generation = s.generation;
  s.credit -= bytes.size();
  want(Kind::kStream, s);
  s.events->on_bytes(std::move(bytes));
  if (lives(s, generation)) settle_broken(s);
}

void UringReactor::deliver_end(StreamSlot& s) {
  if (s.broken != 0) return fail(s, s.broken);  // a reset whose error the send has used up
  s.ended = true;
  want(Kind::kStream, s);
  s.events->on_end();
}

// More is likely there, and large receives cost less. One stream after the other, each with what
// its bytes bring about: received by the ring, the bytes of all would leave the cache before the
// first are sent.
void UringReactor::receive_bulk() {
  bulk_now_.swap(bulk_);
  for (const Ref& ref : bulk_now_) {
    StreamSlot* const s = streams_.find(ref.index, ref.generation);
    if (s == nullptr) continue;
    s->in_bulk = false;
    if (s->gone || s->failed) continue;
    receive_directly(*s, kBulkSpace);
    drain_ready();
  }
  bulk_now_.clear();
}

// Takes what is there now, up to `room`: after a full receive, or when the kernel found no buffer
// free. What is not there needs none yet.
void UringReactor::receive_directly(StreamSlot& s, std::size_t room) {
  Slab space = slabs_.take(std::min(s.credit, room));
  const std::size_t most = std::min(s.credit, space.capacity());
  const ssize_t got = ::recv(s.fd.get(), space.data(), most, MSG_DONTWAIT);
  const bool scarce = !s.full;
  s.full = got == static_cast<ssize_t>(most);
  if (got > 0) {
    const auto size = static_cast<std::size_t>(got);
    if (!scarce || size * 4 > space.capacity()) return deliver(s, std::move(space).take(size));
    Slab fitting = slabs_.take(size);
    std::memcpy(fitting.data(), space.data(), size);
    return deliver(s, std::move(fitting).take(size));
  }
  if (got == 0) return deliver_end(s);
  if (errno != EAGAIN && errno != EINTR) return fail(s, s.broken != 0 ? s.broken : errno);
  s.poll_first = scarce;
  want(Kind::kStream, s);
}

// What may be told without credit: a FIN with nothing before it, and a failure (R6).
void UringReactor::queue_poll(StreamSlot& s) {
  io_uring_sqe& sqe =
      entry(IORING_OP_POLL_ADD, s.fd.get(), name(Kind::kPoll, s.index, s.generation));
  sqe.poll32_events = s.ended || s.fin_behind ? 0 : POLLRDHUP;  // errors always
  s.polling = true;
  ++s.outstanding;
  ++operations_;
}

void UringReactor::on_poll(StreamSlot& s, std::int32_t events) {
  s.polling = false;
  if (!completed(s) || s.failed) return;
  want(Kind::kStream, s);
  if (events < 0) {
    s.hung_up = events != -ECANCELED;
    return;
  }
  if (!s.ended && s.credit > 0) return;  // the receive tells, bytes first
  if ((events & (POLLERR | POLLHUP)) != 0) {
    s.hung_up = true;
    const int error = take_socket_error(s.fd.get());
    if (error != 0) return fail(s, error);
  }
  if (!s.ended) look_for_end(s);
}

void UringReactor::look_for_end(StreamSlot& s) {
  std::byte next{};
  const ssize_t got = ::recv(s.fd.get(), &next, 1, MSG_PEEK | MSG_DONTWAIT);
  if (got == 0) return deliver_end(s);
  if (got > 0) {
    s.fin_behind = true;
  } else if (errno != EAGAIN && errno != EINTR) {
    fail(s, errno);
  }
}

// A send failed. What the peer sent before it went is still delivered as far as credit reaches,
// then the failure.
void UringReactor::settle_broken(StreamSlot& s) {
  if (s.broken == 0 || s.failed) return;
  if (s.ended || s.credit == 0) return fail(s, s.broken);
  want(Kind::kStream, s);
}

void UringReactor::fail(StreamSlot& s, int error) {
  s.failed = true;
  if (!s.sending_out) s.out.clear();
  s.unsent = 0;
  timers_.heap().cancel(s.connect_timer);
  Error made{
      .code = code_of(error), .origin = base::Origin::kUnknown, .retry_safe = false, .text = {}};
  if (made.code == base::Code::kLimit) {
    made.origin = base::Origin::kUs;
  } else {
    made.origin = s.ours ? base::Origin::kNode : base::Origin::kClient;
  }
  made.retry_safe = !s.opened;  // no byte of ours can have reached anybody
  s.events->on_failed(std::move(made));
}

}  // namespace steelyard::io
