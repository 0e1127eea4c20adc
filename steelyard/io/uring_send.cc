#include <algorithm>
#include <cassert>
#include <cerrno>
#include <tuple>

#include "steelyard/io/uring_reactor.h"

namespace steelyard::io {

namespace {

constexpr std::size_t kSendBytes = std::size_t{256} << 10;  // R5
// A guess: what fits the smallest send buffer of a connection that is not behind.
constexpr std::size_t kQuickBytes = std::size_t{16} << 10;
// So much is copied while it is in the cache, by a call of its own: what the ring saves is less.
constexpr std::size_t kBulkBytes = std::size_t{64} << 10;

}  // namespace

void UringReactor::write(StreamSlot& s, Buf bytes) {
  assert(!s.end_wanted && "write after end_write");
  if (s.failed || s.broken != 0 || s.end_wanted || bytes.empty()) return;
  s.unsent += bytes.size();
  s.out.push(std::move(bytes));
  if (s.sending_out) return;
  if (sends_directly(s)) {
    ready_.soon(Kind::kStream, s);
  } else {
    want(Kind::kStream, s);
  }
}

bool UringReactor::sends_directly(const StreamSlot& s) noexcept {
  return s.unsent >= kBulkBytes && s.opened && !s.sending_out && !s.slow && s.broken == 0;
}

void UringReactor::end_write(StreamSlot& s) {
  s.end_wanted = true;
  want(Kind::kStream, s);
}

// What one send takes of all that waits, up to kSendBytes.
UringReactor::Gathered UringReactor::gather(StreamSlot& s, Parts& parts) noexcept {
  Gathered out;
  while (out.count < s.out.size() && out.count < parts.size() && out.bytes < kSendBytes) {
    const Buf& buf = s.out.at(out.count);
    const std::size_t size = std::min(buf.size(), kSendBytes - out.bytes);
    parts[out.count++] = {const_cast<std::byte*>(buf.data()), size};
    out.bytes += size;
  }
  return out;
}

void UringReactor::queue_send(StreamSlot& s) {
  Parts parts;
  const auto [count, asked] = gather(s, parts);
  // A FIN that waits behind it must not wait for the next event.
  s.quick = asked == s.unsent && asked <= kQuickBytes && !s.slow && !s.end_wanted;
  const Kind kind = s.quick ? Kind::kQuick : Kind::kSend;
  const std::uint64_t name_of_it = name(kind, s.index, s.generation);
  io_uring_sqe* sqe = nullptr;
  if (count == 1) {
    sqe = &entry(IORING_OP_SEND, s.fd.get(), name_of_it);
    sqe->addr = reinterpret_cast<std::uint64_t>(parts[0].iov_base);
    sqe->len = static_cast<std::uint32_t>(asked);
  } else {
    s.op = &ops_.take();
    std::copy_n(parts.begin(), count, s.op->parts.begin());
    s.op->message = {};
    s.op->message.msg_iov = s.op->parts.data();
    s.op->message.msg_iovlen = count;
    sqe = &entry(IORING_OP_SENDMSG, s.fd.get(), name_of_it);
    sqe->addr = reinterpret_cast<std::uint64_t>(&s.op->message);
    sqe->len = 1;
  }
  sqe->msg_flags = MSG_NOSIGNAL;
  if (s.quick) {
    sqe->flags = IOSQE_CQE_SKIP_SUCCESS;
    // WAITALL makes a short send a failure, DONTWAIT one that is reported at once.
    sqe->msg_flags |= MSG_WAITALL | MSG_DONTWAIT;
    s.quick_failed = false;
    quick_.push_back(&s);
  }
  s.sending = static_cast<std::uint32_t>(asked);
  s.sending_out = true;
  ++s.outstanding;
  ++operations_;
}

void UringReactor::free_op(StreamSlot& s) noexcept { ops_.give(*std::exchange(s.op, nullptr)); }

void UringReactor::on_sent(StreamSlot& s, std::int32_t result) {
  const bool quick = s.quick;
  s.quick = false;
  const bool short_of = result < static_cast<std::int32_t>(s.sending);
  s.slow = short_of && (quick || result >= 0);
  s.sending_out = false;
  if (s.op != nullptr) free_op(s);
  if (!completed(s)) return;
  if (s.failed || s.broken != 0) return s.out.clear();
  took(s, result);
}

// The rest, where the socket takes no more, waits in the kernel.
void UringReactor::send_directly(StreamSlot& s) {
  Parts parts;
  const auto [count, asked] = gather(s, parts);
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = count;
  const ssize_t taken = ::sendmsg(s.fd.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  s.slow = taken < static_cast<ssize_t>(asked);
  took(s, taken < 0 ? -errno : static_cast<std::int32_t>(taken));
}

// What a send came to: bytes, or -errno.
void UringReactor::took(StreamSlot& s, std::int32_t result) {
  if (result > 0) {
    const auto bytes = static_cast<std::size_t>(result);
    s.out.consume(bytes);
    s.unsent -= bytes;
    if (!s.out.empty() || s.end_wanted) want(Kind::kStream, s);
    s.events->on_sent(bytes);
  } else if (result == 0 || result == -EAGAIN || result == -EINTR) {
    want(Kind::kStream, s);
  } else {
    break_off(s, -result);
  }
}

void UringReactor::break_off(StreamSlot& s, int error) {
  s.broken = error;
  s.out.clear();
  s.unsent = 0;
  // Ends the receive that is out, if the failure did not.
  ::shutdown(s.fd.get(), SHUT_RDWR);
  settle_broken(s);
}

}  // namespace steelyard::io
