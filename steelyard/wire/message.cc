#include "steelyard/wire/message.h"

#include "steelyard/http/head.h"

namespace steelyard::wire {
namespace {

int hex(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool decode(std::string_view text, std::string& out) {
  out.clear();
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i] == '+' ? ' ' : text[i];
      continue;
    }
    const int high = i + 2 < text.size() ? hex(text[i + 1]) : -1;
    const int low = high >= 0 ? hex(text[i + 2]) : -1;
    if (low < 0) return false;
    out += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return true;
}

}  // namespace

const std::string* find(const Headers& headers, std::string_view name) noexcept {
  for (const Header& header : headers) {
    if (http::same_word(header.name, name)) return &header.value;
  }
  return nullptr;
}

bool query_value(std::string_view query, std::string_view name, std::string& out) {
  std::string key;
  while (!query.empty()) {
    const std::size_t end = query.find('&');
    const std::string_view pair = query.substr(0, end);
    query = end == std::string_view::npos ? std::string_view() : query.substr(end + 1);
    const std::size_t equals = pair.find('=');
    if (!decode(pair.substr(0, equals), key) || key != name) continue;
    return decode(equals == std::string_view::npos ? std::string_view() : pair.substr(equals + 1),
                  out);
  }
  return false;
}

}  // namespace steelyard::wire
