#include "steelyard/http/forwarded.h"

#include <algorithm>
#include <array>

#include "steelyard/http/chars.h"
#include "steelyard/http/list.h"

namespace steelyard::http {
namespace {

bool is_port(std::string_view text) noexcept {
  return !text.empty() && text.size() <= 5 &&
         std::all_of(text.begin(), text.end(), [](char c) { return is_char(c, kDigit); });
}

// An address alone: what cannot be one is told apart first, since its error would be a text.
base::Address parse_ip(std::string_view ip) noexcept {
  constexpr std::size_t kLongest = 45;
  const bool fine = std::all_of(ip.begin(), ip.end(),
                                [](char c) { return is_char(c, kHex) || c == ':' || c == '.'; });
  if (!fine || ip.empty() || ip.size() > kLongest) return {};
  std::array<char, kLongest + 4> text;
  const bool six = ip.find(':') != std::string_view::npos;
  char* at = text.data();
  if (six) *at++ = '[';
  at = std::copy(ip.begin(), ip.end(), at);
  if (six) *at++ = ']';
  *at++ = ':';
  *at++ = '1';
  const auto address =
      base::Address::parse({text.data(), static_cast<std::size_t>(at - text.data())});
  return address ? address->with_port(0) : base::Address{};
}

}  // namespace

bool ForwardedFor::next(std::string_view& entry) noexcept {
  while (!in_line_) {
    if (fields_.empty()) return false;
    const Field& field = fields_.back();
    fields_ = fields_.first(fields_.size() - 1);
    if (field.id != FieldId::kXForwardedFor || field.drop) continue;
    rest_ = field.value;
    in_line_ = true;
  }
  const std::size_t comma = rest_.rfind(',');
  in_line_ = comma != std::string_view::npos;
  entry = trim_blanks(in_line_ ? rest_.substr(comma + 1) : rest_);
  rest_ = in_line_ ? rest_.substr(0, comma) : std::string_view();
  return true;
}

base::Address unmapped(const base::Address& address) noexcept {
  constexpr std::array<std::uint8_t, 12> kMapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  const auto& ip = address.ip();
  if (address.family() != base::Address::Family::kV6 ||
      !std::equal(kMapped.begin(), kMapped.end(), ip.begin())) {
    return address;
  }
  return base::Address::v4({ip[12], ip[13], ip[14], ip[15]}, address.port());
}

base::Address forwarded_address(std::string_view entry) noexcept {
  if (entry.size() >= 2 && entry.front() == '"' && entry.back() == '"') {
    entry = entry.substr(1, entry.size() - 2);
  }
  std::string_view ip = entry;
  if (entry.starts_with('[')) {
    const std::size_t close = entry.find(']');
    if (close == std::string_view::npos) return {};
    ip = entry.substr(1, close - 1);
    const std::string_view port = entry.substr(close + 1);
    if (ip.find(':') == std::string_view::npos) return {};
    if (!port.empty() && (port.front() != ':' || !is_port(port.substr(1)))) return {};
  } else if (const std::size_t colon = entry.find(':');
             colon != std::string_view::npos && colon == entry.rfind(':')) {
    if (!is_port(entry.substr(colon + 1))) return {};
    ip = entry.substr(0, colon);
  }
  return unmapped(parse_ip(ip));
}

}  // namespace steelyard::http
