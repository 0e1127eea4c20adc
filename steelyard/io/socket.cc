#include "steelyard/io/socket.h"

#include <array>
#include <cerrno>
#include <linux/filter.h>
#include <linux/sockios.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "steelyard/io/errors.h"
#include "steelyard/io/sockaddr.h"

namespace steelyard::io {

namespace {

bool turn_on(const Fd& socket, int level, int option) noexcept {
  const int on = 1;
  return ::setsockopt(socket.get(), level, option, &on, sizeof on) == 0;
}

// With what a person can do about it.
base::Error cannot_listen(int error, const base::Address& address) {
  base::Error made = system_error(error, "listen on " + address.to_text(), base::Origin::kOperator);
  const std::string port = std::to_string(address.port());
  if (error == EADDRINUSE) made.text += " (ss -ltnp 'sport = :" + port + "' shows by whom)";
  if (error == EACCES) made.text += " (ports below 1024 need root or CAP_NET_BIND_SERVICE)";
  if (error == EADDRNOTAVAIL) made.text += " (no interface of this machine has it)";
  return made;
}

}  // namespace

base::Result<Fd> listen_tcp(const base::Address& address, const ListenOptions& options) {
  if (!address.valid()) {
    return base::Error{base::Code::kInvalid, base::Origin::kUs, false, "listen: no address"};
  }
  const std::string name = address.to_text();
  const SocketAddress at = to_kernel(address);
  Fd fd(::socket(at.at.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return system_error(errno, "open a socket for " + name);
  const bool set = turn_on(fd, SOL_SOCKET, SO_REUSEADDR) &&
                   (!options.reuse_port || turn_on(fd, SOL_SOCKET, SO_REUSEPORT)) &&
                   turn_on(fd, IPPROTO_TCP, TCP_NODELAY) &&
                   (at.at.any.sa_family != AF_INET6 || turn_on(fd, IPPROTO_IPV6, IPV6_V6ONLY));
  if (!set) return system_error(errno, "set the options of the socket for " + name);
  if (::bind(fd.get(), &at.at.any, at.size) != 0) return cannot_listen(errno, address);
  if (::listen(fd.get(), options.backlog) != 0) return cannot_listen(errno, address);
  return fd;
}

base::Result<base::Address> local_address(const Fd& socket) {
  SocketAddress at;
  if (::getsockname(socket.get(), &at.at.any, &at.size) != 0) {
    return system_error(errno, "read the address of a socket");
  }
  return from_kernel(at);
}

base::Result<base::Address> peer_address(const Fd& socket) {
  SocketAddress at;
  if (::getpeername(socket.get(), &at.at.any, &at.size) != 0) {
    return system_error(errno, "read the peer address of a socket");
  }
  return from_kernel(at);
}

base::Result<void> stop_new_connections(const Fd& socket) {
  // The socket filter sees the TCP header first; byte 13 holds the flags. Only a SYN without ACK is
  // dropped: the last ACK of a handshake passes the listening socket's filter too, and dropping it
  // would lose that connection.
  constexpr std::uint32_t kFlags = 13;
  constexpr std::uint32_t kSynAck = 0x12;
  constexpr std::uint32_t kSyn = 0x02;
  std::array<sock_filter, 5> code{{
      {BPF_LD | BPF_B | BPF_ABS, 0, 0, kFlags},
      {BPF_ALU | BPF_AND | BPF_K, 0, 0, kSynAck},
      {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, kSyn},
      {BPF_RET | BPF_K, 0, 0, 0},
      {BPF_RET | BPF_K, 0, 0, 0xffffffff},
  }};
  const sock_fprog program{code.size(), code.data()};
  if (::setsockopt(socket.get(), SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) != 0) {
    return system_error(errno, "stop new connections");
  }
  return {};
}

base::Result<void> resume_new_connections(const Fd& socket) {
  const int unused = 0;
  if (::setsockopt(socket.get(), SOL_SOCKET, SO_DETACH_FILTER, &unused, sizeof unused) != 0 &&
      errno != ENOENT) {
    return system_error(errno, "let new connections in again");
  }
  return {};
}

std::size_t unconfirmed_bytes(const Fd& socket) noexcept {
  int bytes = 0;
  return ::ioctl(socket.get(), SIOCOUTQ, &bytes) == 0 ? static_cast<std::size_t>(bytes) : 0;
}

base::Result<unsigned> accept_queue(const Fd& socket) {
  tcp_info info{};
  socklen_t size = sizeof info;
  if (::getsockopt(socket.get(), IPPROTO_TCP, TCP_INFO, &info, &size) != 0) {
    return system_error(errno, "read the accept queue");
  }
  return static_cast<unsigned>(
      info.tcpi_unacked);  // of a listening socket: the length of its queue
}

}  // namespace steelyard::io
