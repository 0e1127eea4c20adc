// An IPv4 or IPv6 address with a port, as a value: parsed from and printed as text, compared and
// hashed; no resolving.
//
// Text: `10.0.0.1:80`, `[2001:db8::1]:80`, `:8080` (any address, when allowed). IPv6 without
// brackets is an error that says so. The empty address (`!valid()`) is "unknown", never 0.0.0.0.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "steelyard/base/result.h"

namespace steelyard::base {

class Address {
 public:
  enum class Family : std::uint8_t { kNone, kV4, kV6 };

  Address() = default;
  static Address v4(std::array<std::uint8_t, 4> ip, std::uint16_t port) noexcept;
  static Address v6(std::array<std::uint8_t, 16> ip, std::uint16_t port) noexcept;
  static Address loopback(std::uint16_t port) noexcept { return v4({127, 0, 0, 1}, port); }
  // `any` also takes ":8080" and "*:8080" as every IPv4 address; port 0 is taken only with `any`
  // (the kernel chooses).
  static Result<Address> parse(std::string_view text, bool any = false);

  [[nodiscard]] bool valid() const noexcept { return family_ != Family::kNone; }
  [[nodiscard]] Family family() const noexcept { return family_; }
  [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
  [[nodiscard]] const std::array<std::uint8_t, 16>& ip() const noexcept {
    return ip_;
  }  // v4: the first four
  [[nodiscard]] bool is_loopback() const noexcept;
  [[nodiscard]] Address with_port(std::uint16_t port) const noexcept;
  [[nodiscard]] std::string ip_text() const;  // "10.0.0.1", "2001:db8::1"
  [[nodiscard]] std::string to_text() const;  // "10.0.0.1:80", "[2001:db8::1]:80"
  // Writes ip_text() into `out` (at least 46 bytes) without allocating; gives the length.
  std::size_t write_ip(char* out) const noexcept;

  friend bool operator==(const Address&, const Address&) = default;
  friend auto operator<=>(const Address&, const Address&) = default;

 private:
  Family family_ = Family::kNone;
  std::uint16_t port_ = 0;
  std::array<std::uint8_t, 16> ip_{};
};

}  // namespace steelyard::base
