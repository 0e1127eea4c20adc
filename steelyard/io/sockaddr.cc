#include "steelyard/io/sockaddr.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace steelyard::io {

SocketAddress to_kernel(const base::Address& address) noexcept {
  SocketAddress out;
  if (address.family() == base::Address::Family::kV4) {
    out.at.v4.sin_family = AF_INET;
    out.at.v4.sin_port = htons(address.port());
    std::memcpy(&out.at.v4.sin_addr, address.ip().data(), 4);
    out.size = sizeof(out.at.v4);
  } else {
    out.at.v6.sin6_family = AF_INET6;
    out.at.v6.sin6_port = htons(address.port());
    std::memcpy(&out.at.v6.sin6_addr, address.ip().data(), 16);
    out.size = sizeof(out.at.v6);
  }
  return out;
}

base::Address from_kernel(const SocketAddress& address) noexcept {
  if (address.at.any.sa_family == AF_INET) {
    std::array<std::uint8_t, 4> ip{};
    std::memcpy(ip.data(), &address.at.v4.sin_addr, ip.size());
    return base::Address::v4(ip, ntohs(address.at.v4.sin_port));
  }
  if (address.at.any.sa_family == AF_INET6) {
    std::array<std::uint8_t, 16> ip{};
    std::memcpy(ip.data(), &address.at.v6.sin6_addr, ip.size());
    return base::Address::v6(ip, ntohs(address.at.v6.sin6_port));
  }
  return {};
}

}  // namespace steelyard::io
