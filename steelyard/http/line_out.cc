#include "steelyard/http/line_out.h"

namespace steelyard::http {
namespace {

constexpr std::string_view kDigits = "0123456789abcdef";
constexpr std::string_view kUpper = "0123456789ABCDEF";

unsigned byte_at(std::string_view bytes, std::size_t i) noexcept {
  return static_cast<unsigned char>(bytes[i]);
}

struct Letter {
  std::size_t size = 1;
  unsigned code = 0;
  bool valid = false;
};

// The UTF-8 sequence at the front of `bytes` (RFC 3629: shortest form, no surrogates).
Letter letter_of(std::string_view bytes) noexcept {
  const unsigned first = byte_at(bytes, 0);
  if (first < 0x80) return {1, first, true};
  const std::size_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || bytes.size() < size) return {};
  unsigned code = first & (0x7fU >> size);
  for (std::size_t i = 1; i < size; ++i) {
    const unsigned next = byte_at(bytes, i);
    if ((next & 0xc0U) != 0x80) return {};
    code = code << 6 | (next & 0x3fU);
  }
  const bool overlong = (size == 3 && code < 0x800) || (size == 4 && code < 0x10000);
  if (overlong || (code >= 0xd800 && code < 0xe000) || code > 0x10ffff) return {};
  return {size, code, true};
}

// How many bytes at the front are visible ASCII that needs no escape.
std::size_t plain_run(std::string_view bytes) noexcept {
  std::size_t size = 0;
  for (; size < bytes.size(); ++size) {
    const char c = bytes[size];
    if (c < 0x20 || c == 0x7f || c == '"' || c == '\\') break;
  }
  return size;
}

// Moves the cursor, the reading direction or the line of whoever looks at the log.
bool steers(unsigned code) noexcept {
  return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x200e || code == 0x200f ||
         (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
}

}  // namespace

LineOut& LineOut::text(std::string_view bytes) noexcept {
  while (!cut_) {
    const std::size_t run = plain_run(bytes);
    put_start(bytes.substr(0, run));
    if (run == bytes.size()) break;
    const unsigned c = byte_at(bytes, run);
    const char escaped[] = {'\\', 'x', kUpper[c >> 4], kUpper[c & 15]};
    put({escaped, sizeof escaped});
    bytes.remove_prefix(run + 1);
  }
  return *this;
}

LineOut& LineOut::json(std::string_view bytes) noexcept {
  while (!cut_) {
    const std::size_t run = plain_run(bytes);
    put_start(bytes.substr(0, run));
    bytes.remove_prefix(run);
    if (bytes.empty()) break;
    const Letter letter = letter_of(bytes);
    if (!letter.valid) {
      put("\xef\xbf\xbd");
    } else if (letter.code == '"' || letter.code == '\\') {
      const char escaped[] = {'\\', bytes.front()};
      put({escaped, sizeof escaped});
    } else if (steers(letter.code)) {
      const unsigned code = letter.code;
      const char escaped[] = {'\\',
                              'u',
                              kDigits[code >> 12],
                              kDigits[code >> 8 & 15],
                              kDigits[code >> 4 & 15],
                              kDigits[code & 15]};
      put({escaped, sizeof escaped});
    } else {
      put(bytes.substr(0, letter.size));
    }
    bytes.remove_prefix(letter.size);
  }
  return *this;
}

}  // namespace steelyard::http
