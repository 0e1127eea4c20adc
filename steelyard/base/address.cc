#include "steelyard/base/address.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>

namespace steelyard::base {
namespace {

Error bad(std::string text) {
  return Error{.code = Code::kInvalid,
               .origin = Origin::kOperator,
               .retry_safe = false,
               .text = std::move(text)};
}

std::optional<std::array<std::uint8_t, 4>> parse_v4(std::string_view text) {
  std::array<std::uint8_t, 4> out{};
  for (std::size_t i = 0; i < 4; ++i) {
    unsigned value = 0;
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
    const auto digits = static_cast<std::size_t>(end - text.data());
    if (failed != std::errc{} || digits > 3 || value > 255 || (digits > 1 && text[0] == '0'))
      return std::nullopt;
    out[i] = static_cast<std::uint8_t>(value);
    text.remove_prefix(digits);
    if (i < 3) {
      if (text.empty() || text[0] != '.') return std::nullopt;
      text.remove_prefix(1);
    }
  }
  return text.empty() ? std::optional(out) : std::nullopt;
}

// RFC 4291 §2.2 forms, without zone ids.
std::optional<std::array<std::uint8_t, 16>> parse_v6(std::string_view text) {
  std::array<std::uint8_t, 16> out{};
  std::size_t at = 0;
  std::optional<std::size_t> gap;
  if (text.starts_with("::")) {
    gap = 0;
    text.remove_prefix(2);
  } else if (text.starts_with(':')) {
    return std::nullopt;
  }
  while (!text.empty()) {
    if (at >= 16) return std::nullopt;
    const auto colon = text.find(':');
    const auto part = text.substr(0, colon);
    if (part.find('.') != std::string_view::npos) {
      const auto v4 = parse_v4(text);
      if (!v4 || at > 12) return std::nullopt;
      std::memcpy(out.data() + at, v4->data(), 4);
      at += 4;
      text = {};
      break;
    }
    unsigned value = 0;
    const auto [end, failed] = std::from_chars(part.data(), part.data() + part.size(), value, 16);
    if (failed != std::errc{} || end != part.data() + part.size() || part.size() > 4)
      return std::nullopt;
    out[at++] = static_cast<std::uint8_t>(value >> 8);
    out[at++] = static_cast<std::uint8_t>(value & 0xff);
    if (colon == std::string_view::npos) {
      text = {};
      break;
    }
    text.remove_prefix(colon + 1);
    if (text.starts_with(':')) {
      if (gap) return std::nullopt;
      gap = at;
      text.remove_prefix(1);
    } else if (text.empty()) {
      return std::nullopt;
    }
  }
  if (gap) {
    if (at >= 16) return std::nullopt;
    const std::size_t tail = at - *gap;
    std::memmove(out.data() + 16 - tail, out.data() + *gap, tail);
    std::memset(out.data() + *gap, 0, 16 - at);
  } else if (at != 16) {
    return std::nullopt;
  }
  return out;
}

std::optional<std::uint16_t> parse_port(std::string_view text, bool zero) {
  unsigned value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed != std::errc{} || end != text.data() + text.size() || value > 65535)
    return std::nullopt;
  if ((text.size() > 1 && text[0] == '0') || (value == 0 && !zero)) return std::nullopt;
  return static_cast<std::uint16_t>(value);
}

// An IPv4 address as a dual-stack socket names it: ::ffff:0:0/96.
bool is_mapped(const std::array<std::uint8_t, 16>& ip) {
  const auto zeros =
      std::all_of(ip.begin(), ip.begin() + 10, [](std::uint8_t b) { return b == 0; });
  return zeros && ip[10] == 0xff && ip[11] == 0xff;
}
constexpr std::string_view kMappedText = "::ffff:";

char* write_v4(const std::uint8_t* ip, char* at) {
  for (std::size_t i = 0; i < 4; ++i) {
    if (i != 0) *at++ = '.';
    at = std::to_chars(at, at + 3, ip[i]).ptr;
  }
  return at;
}

// Why a text is no address, with what to write instead.
Error explain(std::string_view text, bool any) {
  const std::string quoted = "\"" + std::string(text) + "\"";
  if (text.find("://") != text.npos) return bad(quoted + " is a URL, write host:port alone");
  const auto zone = text.find('%');
  const auto bare = text.substr(0, zone);
  const auto colon = text.rfind(':');
  if (!text.starts_with('[') && bare.find(':') != bare.rfind(':')) {
    const auto host = text.substr(0, colon), port = text.substr(colon + 1);
    const bool with_port = zone == text.npos && parse_v6(host) && parse_port(port, any);
    if (with_port || parse_v6(bare)) {
      std::string why = quoted + " looks like IPv6, write it in brackets: [";
      why += with_port ? host : bare;
      why += "]:";
      why += with_port ? port : "PORT";
      if (zone != text.npos) why += " (zones are not taken)";
      return bad(std::move(why));
    }
  }
  if (colon == text.npos) {
    const bool number = parse_port(text, false).has_value();
    if (number && any)
      return bad(quoted + " has no host, write :" + std::string(text) + " for every address");
    return bad(quoted + " has no port, write host:port");
  }
  const auto host = text.substr(0, colon), port = text.substr(colon + 1);
  if (!parse_port(port, any)) {
    const auto first = port.find_first_not_of('0');
    const bool zero = first != 0 && first != port.npos && parse_port(port.substr(first), any);
    return bad(quoted + (zero ? " has a leading zero in its port"
                              : " has no port between 1 and 65535 after the last colon"));
  }
  if (host.starts_with('[')) {
    return bad(quoted + (host.ends_with(']') ? " is not an IPv6 address with a port"
                                             : " has no closing bracket before the port"));
  }
  if (host.empty()) return bad(quoted + " has no host, write host:port");
  return bad(quoted + " is not an IP address with a port (names are not resolved)");
}

}  // namespace

Address Address::v4(std::array<std::uint8_t, 4> ip, std::uint16_t port) noexcept {
  Address out;
  out.family_ = Family::kV4;
  out.port_ = port;
  std::memcpy(out.ip_.data(), ip.data(), 4);
  return out;
}

Address Address::v6(std::array<std::uint8_t, 16> ip, std::uint16_t port) noexcept {
  Address out;
  out.family_ = Family::kV6;
  out.port_ = port;
  out.ip_ = ip;
  return out;
}

Result<Address> Address::parse(std::string_view text, bool any) {
  const auto colon = text.rfind(':');
  if (colon == std::string_view::npos) return explain(text, any);
  const auto host = text.substr(0, colon);
  const auto port = parse_port(text.substr(colon + 1), any);
  if (!port) return explain(text, any);
  if (host.starts_with('[') && host.ends_with(']')) {
    const auto ip = parse_v6(host.substr(1, host.size() - 2));
    return ip ? Result<Address>(v6(*ip, *port)) : explain(text, any);
  }
  if (any && (host.empty() || host == "*")) return v4({0, 0, 0, 0}, *port);
  if (host == "localhost") return loopback(*port);
  const auto ip = parse_v4(host);
  return ip ? Result<Address>(v4(*ip, *port)) : explain(text, any);
}

bool Address::is_loopback() const noexcept {
  static constexpr std::array<std::uint8_t, 16> kOne{0, 0, 0, 0, 0, 0, 0, 0,
                                                     0, 0, 0, 0, 0, 0, 0, 1};
  if (family_ == Family::kV4) return ip_[0] == 127;
  return family_ == Family::kV6 && (ip_ == kOne || (is_mapped(ip_) && ip_[12] == 127));
}

Address Address::with_port(std::uint16_t port) const noexcept {
  Address out = *this;
  out.port_ = port;
  return out;
}

std::size_t Address::write_ip(char* out) const noexcept {
  char* at = out;
  if (family_ == Family::kV4) return static_cast<std::size_t>(write_v4(ip_.data(), at) - out);
  if (family_ == Family::kNone) return 0;
  if (is_mapped(ip_)) {  // RFC 5952 §5
    at = std::copy(kMappedText.begin(), kMappedText.end(), at);
    return static_cast<std::size_t>(write_v4(ip_.data() + 12, at) - out);
  }
  // RFC 5952: the longest run of two or more zero groups becomes "::".
  std::array<unsigned, 8> group{};
  for (std::size_t i = 0; i < 8; ++i)
    group[i] = static_cast<unsigned>(ip_[2 * i] << 8 | ip_[2 * i + 1]);
  std::size_t best = 8, best_size = 1;
  for (std::size_t i = 0; i < 8;) {
    std::size_t end = i;
    while (end < 8 && group[end] == 0) ++end;
    if (end - i > best_size) {
      best = i;
      best_size = end - i;
    }
    i = end == i ? i + 1 : end;
  }
  for (std::size_t i = 0; i < 8;) {
    if (i == best) {
      *at++ = ':';
      *at++ = ':';
      i += best_size;
      continue;
    }
    if (i != 0 && i != best + best_size) *at++ = ':';
    at = std::to_chars(at, at + 4, group[i], 16).ptr;
    ++i;
  }
  return static_cast<std::size_t>(at - out);
}

std::string Address::ip_text() const {
  std::array<char, 48> out{};
  return {out.data(), write_ip(out.data())};
}

std::string Address::to_text() const {
  if (family_ == Family::kNone) return "unknown";
  const auto host = family_ == Family::kV6 ? "[" + ip_text() + "]" : ip_text();
  return host + ":" + std::to_string(port_);
}

}  // namespace steelyard::base
