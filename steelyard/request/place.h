// Where a route stands: its host and path as they are compared. Pure.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "steelyard/request/options.h"

namespace steelyard::request {

[[nodiscard]] constexpr char lower(char c) noexcept {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

[[nodiscard]] inline std::string lowered(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), lower);
  return out;
}

// The host without port and trailing dot; brackets of an IPv6 address stay.
[[nodiscard]] constexpr std::string_view bare(std::string_view host) noexcept {
  const auto bracket = host.rfind(']');
  const auto colon = host.rfind(':');
  if (colon != std::string_view::npos && (bracket == std::string_view::npos || colon > bracket)) {
    host = host.substr(0, colon);
  }
  if (!host.empty() && host.back() == '.') host.remove_suffix(1);
  return host;
}

// Empty: any.
[[nodiscard]] inline std::string host_of(const MatchOptions& match) {
  std::string host = lowered(bare(match.host));
  return host == "*" ? std::string() : host;
}

// Without a trailing slash; empty: every path.
[[nodiscard]] inline std::string_view prefix_of(const MatchOptions& match) noexcept {
  std::string_view path = match.path;
  while (!path.empty() && path.back() == '/') path.remove_suffix(1);
  return path;
}

}  // namespace steelyard::request
