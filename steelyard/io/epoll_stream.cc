#include <algorithm>
#include <array>
#include <cassert>
#include <cerrno>
#include <limits>
#include <new>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "steelyard/io/epoll_reactor.h"
#include "steelyard/io/errors.h"
#include "steelyard/io/socket.h"
#include "steelyard/io/system_calls.h"

namespace steelyard::io {

namespace {

constexpr std::size_t kMost = std::numeric_limits<std::size_t>::max();
constexpr std::uint32_t kTurnBytes = 256U << 10;            // R: fairness, each way
constexpr std::size_t kSendBytes = std::size_t{256} << 10;  // R5
constexpr std::size_t kParts = 64;                          // of one send

}  // namespace

std::unique_ptr<Stream> EpollReactor::adopt(Fd socket, StreamEvents& events) {
  StreamSlot& s = streams_.take();
  s.events = &events;
  if (socket.valid() && socket.get() == accepted_fd_) {
    s.remote = accepted_remote_;
    s.local = accepted_local_;
  }
  if (!s.remote.valid()) s.remote = peer_address(socket).value_or({});
  if (!s.local.valid()) s.local = local_address(socket).value_or({});
  s.fd = std::move(socket);
  s.opening = true;
  s.readable = true;  // the request is usually there already: the first read needs no event
  s.writable = true;
  ready_.soon(Kind::kStream, s);
  return std::unique_ptr<Stream>(new (s) StreamHandle(*this, s));
}

std::unique_ptr<Stream> EpollReactor::connect(const Address& to, const ConnectOptions& options,
                                              StreamEvents& events) {
  StreamSlot& s = streams_.take();
  s.events = &events;
  s.ours = true;
  s.remote = to;
  s.connecting = true;
  s.connect_timer.owner = s.index;
  s.connect_timer.generation = s.generation;
  s.connect_timer.kind = static_cast<std::uint8_t>(Kind::kStream);
  start_connect(s, to);
  if (s.connecting) timers_.heap().set(s.connect_timer, now() + options.timeout);
  return std::unique_ptr<Stream>(new (s) StreamHandle(*this, s));
}

void EpollReactor::release(StreamSlot& s) noexcept {
  const bool clean = s.failed || !s.fd.valid() || s.connecting || (s.end_wanted && s.out.empty());
  if (!clean) {
    const linger reset{1, 0};
    ::setsockopt(s.fd.get(), SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
  }
  const bool held = s.fd.valid();
  s.fd.reset();
  s.out.clear();
  timers_.heap().remove(s.connect_timer);
  s.events = nullptr;
  s.credit = s.unsent = 0;
  s.broken = 0;
  s.turn = 0;
  s.remote = s.local = {};
  s.queued = s.registered = s.ours = s.connecting = s.opening = s.opened = false;
  s.readable = s.to_end = s.error = s.writable = false;
  s.ended = s.end_wanted = s.end_sent = s.failed = false;
  streams_.give(s);
  if (held) fd_freed();
}

void EpollReactor::grant(StreamSlot& s, std::size_t bytes) {
  s.credit = bytes > kMost - s.credit ? kMost : s.credit + bytes;
  if (s.readable && !s.connecting) ready_.soon(Kind::kStream, s);
}

void EpollReactor::write(StreamSlot& s, Buf bytes) {
  assert(!s.end_wanted && "write after end_write");
  if (s.failed || s.broken != 0 || s.end_wanted || bytes.empty()) return;
  s.unsent += bytes.size();
  s.out.push(std::move(bytes));
  if (s.writable && !s.connecting) ready_.soon(Kind::kStream, s);
}

void EpollReactor::end_write(StreamSlot& s) {
  s.end_wanted = true;
  if (!s.connecting) ready_.soon(Kind::kStream, s);
}

void EpollReactor::renew_budget(StreamSlot& s) const noexcept {
  if (s.turn == turn_) return;
  s.turn = turn_;
  s.received = 0;
  s.sent = 0;
}

void EpollReactor::service(StreamSlot& s) {
  if (s.failed) return;
  if (s.connecting) {
    finish_connect(s);
    if (s.connecting) return;
  }
  renew_budget(s);
  if (s.broken != 0 && !s.opened) return (void)fail(s, s.broken);
  if (s.opening && !open(s)) return;
  if (!read_some(s) || !flush(s)) return;
  if (s.broken != 0 && !settle_broken(s)) return;
  if (s.registered || s.failed || !s.fd.valid()) return;
  // After the first read, not before: else the bytes just read would be reported once more.
  s.registered = true;
  if (!enrol(s.fd.get(), EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET,
             {Kind::kStream, s.index, s.generation})) {
    (void)fail(s, errno);
  }
}

bool EpollReactor::open(StreamSlot& s) {
  const std::uint32_t generation = s.generation;
  s.opening = false;
  s.opened = true;
  PeerInfo peer;
  peer.remote = s.remote;
  peer.local = s.local;
  s.events->on_open(peer);
  return s.generation == generation;
}

bool EpollReactor::read_some(StreamSlot& s) {
  const std::uint32_t generation = s.generation;
  while (s.readable && s.credit > 0 && !s.ended) {
    if (s.received >= kTurnBytes) {
      ready_.next_turn(Kind::kStream, s);
      return true;
    }
    const auto space = blocks_.space(std::min<std::size_t>(s.credit, kTurnBytes - s.received));
    const ssize_t got = receive(s.fd.get(), space.data(), space.size());
    if (got > 0) {
      const auto bytes = static_cast<std::size_t>(got);
      s.credit -= bytes;
      s.received += static_cast<std::uint32_t>(bytes);
      if (bytes < space.size() && !s.to_end) s.readable = false;
      s.events->on_bytes(blocks_.lend(bytes));
      if (s.generation != generation) return false;
    } else if (got == 0) {
      s.ended = true;
      s.events->on_end();
      if (s.generation != generation) return false;
    } else if (errno == EAGAIN) {
      s.readable = s.to_end = false;
    } else if (errno != EINTR) {
      return fail(s, errno);
    }
  }
  return look_for_end(s);
}

// What may be told without credit: a FIN with nothing before it, and a failure (R6).
bool EpollReactor::look_for_end(StreamSlot& s) {
  const std::uint32_t generation = s.generation;
  if (s.error) {
    if (s.credit > 0 && s.readable && !s.ended) return true;  // the bytes come first
    s.error = false;
    const int error = take_socket_error(s.fd.get());
    if (error != 0) return fail(s, error);
  }
  if (!s.to_end || !s.readable || s.ended || s.credit > 0) return true;
  std::byte next{};
  const ssize_t got = ::recv(s.fd.get(), &next, 1, MSG_PEEK);
  if (got == 0) {
    s.ended = true;
    s.events->on_end();
    return s.generation == generation;
  }
  if (got < 0 && errno != EAGAIN && errno != EINTR) return fail(s, errno);
  return true;
}

bool EpollReactor::flush(StreamSlot& s) {
  const std::uint32_t generation = s.generation;
  while (!s.out.empty() && s.writable && s.broken == 0 && !s.failed) {
    if (s.sent >= kTurnBytes) {
      ready_.next_turn(Kind::kStream, s);
      return true;
    }
    std::size_t asked = 0;
    const long taken = send_once(s, asked);
    if (taken >= 0) {
      const auto bytes = static_cast<std::size_t>(taken);
      s.out.consume(bytes);
      s.unsent -= bytes;
      s.sent += static_cast<std::uint32_t>(bytes);
      if (bytes < asked) s.writable = false;  // the kernel noted that we want an edge
      s.events->on_sent(bytes);
      if (s.generation != generation) return false;
    } else if (errno == EAGAIN) {
      s.writable = false;
    } else if (errno != EINTR) {
      s.broken = errno;
    }
  }
  if (s.out.empty() && s.end_wanted && !s.end_sent && s.broken == 0 && !s.failed) {
    s.end_sent = true;
    ::shutdown(s.fd.get(), SHUT_WR);
  }
  return true;
}

long EpollReactor::send_once(StreamSlot& s, std::size_t& asked) {
  std::array<iovec, kParts> parts;
  std::size_t count = 0;
  while (count < parts.size() && count < s.out.size() && asked < kSendBytes) {
    Buf& buf = s.out.at(count);
    const std::size_t size = std::min(buf.size(), kSendBytes - asked);
    parts[count++] = {const_cast<std::byte*>(buf.data()), size};
    asked += size;
  }
  if (count == 1) return send(s.fd.get(), parts[0].iov_base, parts[0].iov_len);
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = count;
  return send(s.fd.get(), message);
}

// A send failed. What the peer sent before it went is still delivered as far as credit reaches,
// then the failure.
bool EpollReactor::settle_broken(StreamSlot& s) {
  s.out.clear();
  s.unsent = 0;
  s.readable = s.to_end = true;
  const std::uint32_t generation = s.generation;
  if (!read_some(s)) return false;
  if (s.generation != generation || s.failed) return false;
  if (s.readable && s.credit > 0 && !s.ended) return true;  // over its budget: goes on next turn
  return fail(s, s.broken);
}

bool EpollReactor::fail(StreamSlot& s, int error) {
  s.failed = true;
  s.readable = false;
  s.out.clear();
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
  return false;
}

}  // namespace steelyard::io
