#include "steelyard/io/channel.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "steelyard/io/errors.h"

namespace steelyard::io {
namespace {

constexpr std::size_t kMostText = std::size_t{96} << 10;

struct Head {
  std::uint32_t version;
  std::uint16_t verb;
  std::uint16_t unused;
  std::uint32_t number;
};

using Control = std::array<char, CMSG_SPACE(Channel::kMostFds * sizeof(int))>;

bool wait_for(int fd, short what, base::Duration wait) noexcept {
  pollfd one{.fd = fd, .events = what, .revents = 0};
  const auto ms = std::chrono::ceil<std::chrono::milliseconds>(wait).count();
  return ::poll(&one, 1, static_cast<int>(ms)) > 0;
}

void attach(msghdr& message, Control& room, const std::vector<Fd>& fds) noexcept {
  const std::size_t bytes = fds.size() * sizeof(int);
  message.msg_control = room.data();
  message.msg_controllen = CMSG_SPACE(bytes);
  cmsghdr* const at = CMSG_FIRSTHDR(&message);
  at->cmsg_level = SOL_SOCKET;
  at->cmsg_type = SCM_RIGHTS;
  at->cmsg_len = CMSG_LEN(bytes);
  for (std::size_t i = 0; i < fds.size(); ++i) {
    const int fd = fds[i].get();
    std::memcpy(CMSG_DATA(at) + i * sizeof fd, &fd, sizeof fd);
  }
}

std::vector<Fd> take_fds(msghdr& message) {
  std::vector<Fd> out;
  for (cmsghdr* at = CMSG_FIRSTHDR(&message); at != nullptr; at = CMSG_NXTHDR(&message, at)) {
    if (at->cmsg_level != SOL_SOCKET || at->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (at->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(at) + i * sizeof fd, sizeof fd);
      out.emplace_back(fd);
    }
  }
  return out;
}

bool same_user(const Fd& fd, int* pid) noexcept {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(fd.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return false;
  if (pid != nullptr) *pid = peer.pid;
  return peer.uid == ::geteuid();
}

// The address of an abstract name; false when it is too long.
bool abstract_name(std::string_view name, sockaddr_un& at, socklen_t& size) noexcept {
  const std::string whole = "steelyard/" + std::to_string(::geteuid()) + "/" + std::string(name);
  at.sun_family = AF_UNIX;
  if (whole.size() + 1 > sizeof at.sun_path) return false;
  std::memcpy(at.sun_path + 1, whole.data(), whole.size());
  size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + whole.size());
  return true;
}

}  // namespace

base::Result<std::pair<Channel, Channel>> Channel::pair() {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return system_error(errno, "make a channel");
  }
  return std::pair{Channel(Fd(ends[0])), Channel(Fd(ends[1]))};
}

bool Channel::send(const Message& message, base::Duration wait) noexcept {
  if (!open() || message.text.size() > kMostText || message.fds.size() > kMostFds) return false;
  Head head{kChannelVersion, static_cast<std::uint16_t>(message.verb), 0, message.number};
  std::array<iovec, 2> parts{
      {{&head, sizeof head}, {const_cast<char*>(message.text.data()), message.text.size()}}};
  alignas(cmsghdr) Control room{};
  msghdr out{};
  out.msg_iov = parts.data();
  out.msg_iovlen = parts.size();
  if (!message.fds.empty()) attach(out, room, message.fds);
  for (int tries = 0; tries < 2; ++tries) {
    if (::sendmsg(fd_.get(), &out, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0) return true;
    if (errno == EINTR) {
      --tries;
    } else if (errno != EAGAIN || wait <= base::Duration::zero() ||
               !wait_for(fd_.get(), POLLOUT, wait)) {
      return false;
    }
  }
  return false;
}

std::optional<Message> Channel::receive(base::Duration wait) {
  if (!open()) return std::nullopt;
  if (wait > base::Duration::zero() && !wait_for(fd_.get(), POLLIN, wait)) return std::nullopt;
  std::string text(kMostText + 1, '\0');
  Head head{};
  std::array<iovec, 2> parts{{{&head, sizeof head}, {text.data(), text.size()}}};
  alignas(cmsghdr) Control room{};
  msghdr in{};
  in.msg_iov = parts.data();
  in.msg_iovlen = parts.size();
  in.msg_control = room.data();
  in.msg_controllen = room.size();
  ssize_t got = 0;
  do {
    got = ::recvmsg(fd_.get(), &in, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    // A peer that ended with messages unread: told once, ahead of what it had said itself.
  } while (got < 0 && (errno == EINTR || errno == ECONNRESET));
  if (got < 0 && errno == EAGAIN) return std::nullopt;
  Message out;
  if (got > 0) out.fds = take_fds(in);
  if (got < static_cast<ssize_t>(sizeof head) || head.version != kChannelVersion ||
      (in.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0) {
    closed_ = true;
    short_of_descriptors_ = (in.msg_flags & MSG_CTRUNC) != 0;
    return std::nullopt;
  }
  text.resize(static_cast<std::size_t>(got) - sizeof head);
  out.verb = static_cast<Verb>(head.verb);
  out.number = head.number;
  out.text = std::move(text);
  return out;
}

std::string to_lines(std::span<const base::Address> addresses) {
  std::string out;
  for (const auto& address : addresses) out += address.to_text() + "\n";
  return out;
}

std::vector<base::Address> addresses_of(std::string_view lines) {
  std::vector<base::Address> out;
  while (!lines.empty()) {
    const auto end = std::min(lines.find('\n'), lines.size());
    if (auto address = base::Address::parse(lines.substr(0, end), /*any=*/true)) {
      out.push_back(*address);
    }
    lines.remove_prefix(std::min(end + 1, lines.size()));
  }
  return out;
}

base::Result<Fd> wait_for_supervisor(std::string_view name) {
  sockaddr_un at{};
  socklen_t size = 0;
  Fd fd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid()) return system_error(errno, "open a socket to be found by");
  if (!abstract_name(name, at, size)) return system_error(ENAMETOOLONG, "be found by its name");
  if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&at), size) != 0 ||
      ::listen(fd.get(), 4) != 0) {
    return system_error(errno, "be found as " + std::string(name));
  }
  return fd;
}

Fd accept_supervisor(const Fd& waiting) noexcept {
  Fd fd(::accept4(waiting.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (fd.valid() && !same_user(fd, nullptr)) fd.reset();
  return fd;
}

std::pair<Channel, int> call_engine(std::string_view name) noexcept {
  sockaddr_un at{};
  socklen_t size = 0;
  int pid = 0;
  Fd fd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid() || !abstract_name(name, at, size) ||
      ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&at), size) != 0 ||
      !same_user(fd, &pid)) {
    return {};
  }
  return {Channel(std::move(fd)), pid};
}

}  // namespace steelyard::io
