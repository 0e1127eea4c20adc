#include "steelyard/http/target.h"

#include "steelyard/http/chars.h"

namespace steelyard::http {

bool valid_authority(std::string_view text) noexcept {
  std::string_view port;
  if (!text.empty() && text.front() == '[') {
    const std::size_t close = text.find(']');
    if (close == std::string_view::npos || close < 3) return false;
    for (const char c : text.substr(1, close - 1)) {
      if (!is_char(c, kHex) && c != ':' && c != '.') return false;
    }
    port = text.substr(close + 1);
    if (!port.empty() && port.front() != ':') return false;
  } else {
    const std::size_t colon = text.find(':');
    const std::string_view host = text.substr(0, colon);
    if (host.empty()) return false;
    unsigned all = kHostName;
    for (const char c : host) all &= char_bits(c);
    for (std::size_t i = all == 0 ? 0 : host.size(); i < host.size(); ++i) {
      if (is_char(host[i], kHostName)) continue;
      if (host[i] != '%' || i + 2 >= host.size() || !is_char(host[i + 1], kHex) ||
          !is_char(host[i + 2], kHex))
        return false;
      i += 2;
    }
    if (colon != std::string_view::npos) port = text.substr(colon);
  }
  if (port.empty()) return true;
  port.remove_prefix(1);
  unsigned value = 0;
  for (const char c : port) {
    if (!is_char(c, kDigit)) return false;
    value = value * 10 + static_cast<unsigned>(c - '0');
    if (value > 65535) return false;
  }
  return true;
}

bool read_target(Head& head) noexcept {
  const std::string_view target = head.target;
  if (head.method == Method::kConnect) {
    head.authority = target;
    const std::size_t colon = target.rfind(':');  // the port must be there
    return valid_authority(target) && colon != std::string_view::npos &&
           colon + 1 < target.size() && target.back() != ']';
  }
  if (target.front() == '/') {
    head.path = target;
    return true;
  }
  if (target == "*") {
    head.path = target;
    return head.method == Method::kOptions;
  }
  const std::size_t scheme = target.find("://");
  if (scheme == std::string_view::npos) return false;
  const std::string_view name = target.substr(0, scheme);
  head.https = same_word(name, "https");
  if (!head.https && !same_word(name, "http")) return false;
  const std::string_view rest = target.substr(scheme + 3);
  const std::size_t end = rest.find_first_of("/?");
  head.authority = rest.substr(0, end);
  // Nothing behind the authority: the root, or the server as a whole (RFC 9112 3.2.4).
  const std::string_view whole = head.method == Method::kOptions ? "*" : "/";
  head.path = end == std::string_view::npos ? whole : rest.substr(end);
  return valid_authority(head.authority);
}

}  // namespace steelyard::http
