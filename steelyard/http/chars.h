// Classes of bytes in HTTP/1 heads, as one table of bits.
#pragma once

#include <array>
#include <cstdint>

namespace steelyard::http {

inline constexpr std::uint8_t kToken = 1;      // RFC 9110 5.6.2
inline constexpr std::uint8_t kLookAlike = 2;  // `_`, which many servers read as `-`
inline constexpr std::uint8_t kValue = 4;      // visible, space, tab, 8-bit
inline constexpr std::uint8_t kTarget = 8;     // visible or 8-bit, without `#`
inline constexpr std::uint8_t kHostName = 16;  // letters, digits, - . _ ~
inline constexpr std::uint8_t kHex = 32;
inline constexpr std::uint8_t kDigit = 64;

inline constexpr std::array<std::uint8_t, 256> kCharTable = [] {
  std::array<std::uint8_t, 256> table{};
  for (unsigned c = 0; c < 256; ++c) {
    unsigned bits = 0;
    const bool digit = c >= '0' && c <= '9';
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (digit) bits |= kDigit;
    if (digit || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F')) bits |= kHex;
    bool token = digit || letter;
    for (const char t :
         {'!', '#', '$', '%', '&', '\'', '*', '+', '-', '.', '^', '_', '`', '|', '~'}) {
      token = token || c == static_cast<unsigned char>(t);
    }
    if (token) bits |= kToken;
    if (c == '_') bits |= kLookAlike;
    if ((c >= 0x20 && c != 0x7f) || c == '\t') bits |= kValue;
    if (c > 0x20 && c != 0x7f && c != '#') bits |= kTarget;
    if (digit || letter || c == '-' || c == '.' || c == '_' || c == '~') bits |= kHostName;
    table[c] = static_cast<std::uint8_t>(bits);
  }
  return table;
}();

[[nodiscard]] constexpr std::uint8_t char_bits(char c) noexcept {
  return kCharTable[static_cast<unsigned char>(c)];
}
[[nodiscard]] constexpr bool is_char(char c, std::uint8_t bits) noexcept {
  return (char_bits(c) & bits) != 0;
}

}  // namespace steelyard::http
