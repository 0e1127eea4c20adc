#include "steelyard/http/scan.h"

#include <cstring>

#include "steelyard/http/chars.h"

namespace steelyard::http {
namespace {

// True when 8 bytes hold a control byte or DEL (tab included: the caller then looks one by one).
bool word_has_control(std::uint64_t w) noexcept {
  constexpr std::uint64_t kOnes = 0x0101010101010101ULL;
  constexpr std::uint64_t kTops = 0x8080808080808080ULL;
  const std::uint64_t below_space = (w - kOnes * 0x20) & ~w & kTops;
  const std::uint64_t del = w ^ (kOnes * 0x7f);
  return (below_space | ((del - kOnes) & ~del & kTops)) != 0;
}

bool value_is_fine(const char* at, const char* end) noexcept {
  while (end - at >= 8) {
    std::uint64_t word;
    std::memcpy(&word, at, 8);
    if (word_has_control(word)) {
      for (int i = 0; i < 8; ++i) {
        if (!is_char(at[i], kValue)) return false;
      }
    }
    at += 8;
  }
  for (; at != end; ++at) {
    if (!is_char(*at, kValue)) return false;
  }
  return true;
}

Reset bad_request(std::string_view text) noexcept { return {Why::kProtocol, 400, text}; }

bool scan_request_line(std::string_view line, StartLine& out, Reset& bad) noexcept {
  const std::size_t first = line.find(' ');
  const std::size_t second = first == std::string_view::npos ? first : line.find(' ', first + 1);
  if (second == std::string_view::npos) return bad = bad_request("bad request line"), false;
  out = {line.substr(0, first), line.substr(first + 1, second - first - 1),
         line.substr(second + 1)};
  bool fine = !out.first.empty() && !out.second.empty();
  for (const char c : out.first) fine = fine && is_char(c, kToken);
  for (const char c : out.second) fine = fine && is_char(c, kTarget);
  if (!fine) return bad = bad_request("bad request line"), false;
  return true;
}

bool scan_status_line(std::string_view line, StartLine& out, Reset& bad) noexcept {
  // "HTTP/1.1 200 OK"; the space before an empty reason may be missing
  const bool fine = line.size() >= 12 && line[8] == ' ' && is_char(line[9], kDigit) &&
                    is_char(line[10], kDigit) && is_char(line[11], kDigit) &&
                    (line.size() == 12 || line[12] == ' ') &&
                    value_is_fine(line.data(), line.data() + line.size());
  if (!fine) return bad = {Why::kProtocol, 502, "bad status line"}, false;
  out = {line.substr(0, 8), line.substr(9, 3),
         line.size() > 13 ? line.substr(13) : std::string_view()};
  return true;
}

constexpr bool is_blank(char c) noexcept { return c == ' ' || c == '\t'; }

bool scan_field(const char* at, const char* end, Field& out, Reset& bad) noexcept {
  const char* const name = at;
  unsigned bits = 0;
  while (at != end && is_char(*at, kToken)) bits |= char_bits(*at++);
  if (at == end || *at != ':' || at == name) {
    bad = bad_request(is_blank(*name) ? "folded field line" : "bad field name");
    return false;
  }
  out.name = {name, static_cast<std::size_t>(at - name)};
  ++at;
  while (at != end && is_blank(*at)) ++at;
  while (end != at && is_blank(end[-1])) --end;
  if (!value_is_fine(at, end)) return bad = bad_request("bad byte in a field value"), false;
  out.value = {at, static_cast<std::size_t>(end - at)};
  out.id = field_of(out.name);
  out.drop = (bits & kLookAlike) != 0;
  return true;
}

}  // namespace

ScanState scan_head(std::string_view text, ScanKind kind, const ScanLimits& limits,
                    ScanProgress& progress, StartLine& start, std::span<Field> fields,
                    Reset& bad) noexcept {
  for (;;) {
    const std::size_t from = progress.seen > progress.line_at ? progress.seen : progress.line_at;
    const void* const found =
        from < text.size() ? std::memchr(text.data() + from, '\n', text.size() - from) : nullptr;
    const std::size_t line_end =
        found == nullptr
            ? text.size()
            : static_cast<std::size_t>(static_cast<const char*>(found) - text.data()) + 1;
    const bool in_start = !progress.started && kind != ScanKind::kTrailers;
    if (in_start && line_end - progress.line_at > limits.max_line + 2) {
      return bad = {Why::kLimit, 414, "start line too long"}, ScanState::kBad;
    }
    if (line_end > limits.max_bytes)
      return bad = {Why::kLimit, 431, "head too large"}, ScanState::kBad;
    if (found == nullptr) return progress.seen = text.size(), ScanState::kMore;

    const char* const line = text.data() + progress.line_at;
    const char* const end = text.data() + line_end - 2;
    if (line_end - progress.line_at < 2 || *end != '\r')
      return bad = bad_request("bare LF"), ScanState::kBad;
    if (in_start) {
      const std::string_view all(line, static_cast<std::size_t>(end - line));
      const bool fine = kind == ScanKind::kRequest ? scan_request_line(all, start, bad)
                                                   : scan_status_line(all, start, bad);
      if (!fine) return ScanState::kBad;
      progress.started = true;
    } else if (end == line) {
      progress.line_at = line_end;
      return ScanState::kDone;
    } else {
      if (progress.fields >= limits.max_fields)
        return bad = {Why::kLimit, 431, "too many fields"}, ScanState::kBad;
      Field field;
      if (!scan_field(line, end, field, bad)) return ScanState::kBad;
      if (progress.fields < fields.size()) fields[progress.fields] = field;
      ++progress.fields;
    }
    progress.line_at = line_end;
  }
}

}  // namespace steelyard::http
