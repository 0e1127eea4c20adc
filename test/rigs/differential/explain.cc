#include "test/rigs/differential/explain.h"

#include <algorithm>
#include <string_view>
#include <strings.h>

namespace steelyard::rigs {
namespace {

// The parts of a head's first line, as places in the text; a line of another shape has none.
struct Line {
  std::size_t method = 0, target = 0, target_end = 0;
  [[nodiscard]] bool whole() const { return target_end > target; }
};

Line line_of(const std::string& text) {
  Line out;
  out.method = std::min(text.find_first_not_of("\r\n"), text.size());
  const auto end = std::min(text.find_first_of("\r\n", out.method), text.size());
  const auto first = text.find(' ', out.method);
  const auto last = text.rfind(' ', end);
  if (first >= end || last == text.npos || last <= first) return out;
  out.target = first + 1;
  out.target_end = last;
  return out;
}

// Begin and end of the authority in an absolute target; equal when there is none.
std::pair<std::size_t, std::size_t> authority_of(const std::string& text, const Line& line) {
  const auto scheme = text.find("://", line.target);
  if (scheme >= line.target_end) return {0, 0};
  const auto from = scheme + 3;
  return {from, std::min(text.find_first_of("/?", from), line.target_end)};
}

// Sets the value of each Host line of the (first) head.
void set_host(std::string& text, const std::string& value) {
  constexpr std::string_view kName = "host:";
  const auto end_of_head = [&] { return std::min(text.find("\r\n\r\n"), text.size()); };
  for (auto at = text.find('\n'); at < end_of_head(); at = text.find('\n', at + 1)) {
    if (::strncasecmp(text.c_str() + at + 1, kName.data(), kName.size()) != 0) continue;
    const auto from = at + 1 + kName.size();
    const auto end = std::min(text.find_first_of("\r\n", from), text.size());
    text.replace(from, end - from, " " + value);
  }
}

void replace_all(std::string& text, std::string_view what, std::string_view by) {
  for (auto at = text.find(what); at != text.npos; at = text.find(what, at + by.size())) {
    text.replace(at, what.size(), by);
  }
}

}  // namespace

std::string as_nginx_likes(const std::string& input) {
  auto out = input;
  auto line = line_of(out);
  if (!line.whole()) return out;
  for (auto at = line.target; at < line.target_end; ++at) {
    if (out[at] == '%') out[at] = 'p';
  }
  const auto [from, end] = authority_of(out, line);
  if (end > from) {
    out.replace(from, end - from, "a.example");
    line = line_of(out);
  }
  set_host(out, "a.example");
  const auto odd = [](char c) { return (c < 'A' || c > 'Z') && c != '_' && c != '-'; };
  const auto begin = out.begin() + static_cast<std::ptrdiff_t>(line.method);
  const auto stop = out.begin() + static_cast<std::ptrdiff_t>(line.target - 1);
  if (std::any_of(begin, stop, odd)) out.replace(begin, stop, "POST");
  return out;
}

std::string as_haproxy_likes(const std::string& input) {
  auto out = input;
  const auto line = line_of(out);
  if (!line.whole()) return out;
  for (auto at = line.target; at < line.target_end; ++at) {
    if (static_cast<unsigned char>(out[at]) > 127) out[at] = 'x';
  }
  const auto [from, end] = authority_of(out, line);
  if (end > from) set_host(out, out.substr(from, end - from));
  replace_all(out, "websocket", "other");
  return out;
}

}  // namespace steelyard::rigs
