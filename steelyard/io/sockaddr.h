// base::Address as the kernel's sockaddr, and back.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include "steelyard/base/address.h"

namespace steelyard::io {

struct SocketAddress {
  union {
    sockaddr any;
    sockaddr_in v4;
    sockaddr_in6 v6;
  } at{};
  socklen_t size = sizeof(at);
};

// The address must be valid.
[[nodiscard]] SocketAddress to_kernel(const base::Address& address) noexcept;
// An unknown family (a Unix socket, say) gives the empty Address.
[[nodiscard]] base::Address from_kernel(const SocketAddress& address) noexcept;

}  // namespace steelyard::io
