#include "steelyard/http/scan.h"

#include <algorithm>
#include <bit>

#include "steelyard/http/chars.h"
#include "steelyard/http/scan_kernels.h"

namespace steelyard::http {
namespace {

bool value_is_fine(const char* at, const char* end) noexcept {
  while (at != end && is_char(*at, kValue)) ++at;
  return at == end;
}

Reset bad_request(std::string_view text) noexcept { return {Why::kProtocol, 400, text}; }

constexpr char kTlsHandshake = '\x16';  // the first byte of a TLS client

// An empty line may stand before it.
bool may_begin_request(std::string_view text, std::size_t at) noexcept {
  return at == text.size() || is_char(text[at], kToken) || text[at] == '\r' || text[at] == '\n';
}

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

// `clean`: its bytes may stand in a value.
bool scan_status_line(std::string_view line, bool clean, StartLine& out, Reset& bad) noexcept {
  // "HTTP/1.1 200 OK"; the space before an empty reason may be missing
  const bool fine = line.size() >= 12 && line[8] == ' ' && is_char(line[9], kDigit) &&
                    is_char(line[10], kDigit) && is_char(line[11], kDigit) &&
                    (line.size() == 12 || line[12] == ' ') &&
                    (clean || value_is_fine(line.data(), line.data() + line.size()));
  if (!fine) return bad = {Why::kProtocol, 502, "bad status line"}, false;
  out = {line.substr(0, 8), line.substr(9, 3),
         line.size() > 13 ? line.substr(13) : std::string_view()};
  return true;
}

constexpr bool is_blank(char c) noexcept { return c == ' ' || c == '\t'; }

// RFC 9112 5.1: blanks before the colon are a reason to refuse a request; out of an answer they are
// taken (`lenient`).
bool scan_field(const char* at, const char* end, bool lenient, Field& out, Reset& bad) noexcept {
  const char* const name = at;
  unsigned bits = 0;
  while (at != end && is_char(*at, kToken)) bits |= char_bits(*at++);
  const char* const name_end = at;
  if (lenient && at != name) {
    while (at != end && is_blank(*at)) ++at;
  }
  if (at == end || *at != ':' || at == name) {
    bad = bad_request(is_blank(*name) ? "folded field line" : "bad field name");
    return false;
  }
  out.name = {name, static_cast<std::size_t>(name_end - name)};
  ++at;
  while (at != end && is_blank(*at)) ++at;
  while (end != at && is_blank(end[-1])) --end;
  if (!value_is_fine(at, end)) return bad = bad_request("bad byte in a field value"), false;
  out.value = {at, static_cast<std::size_t>(end - at)};
  out.id = field_of(out.name);
  out.drop = (bits & kLookAlike) != 0;
  return true;
}

// A text and its marks, made a block at a time as far as they are asked for.
class Marked {
 public:
  Marked(std::string_view text, const ScanKernels& kernels) noexcept
      : text_(text), kernels_(kernels) {}

  // The first byte from `at` on that is none; the text's size where there is no such byte.
  [[nodiscard]] std::size_t no_token(std::size_t at, bool& look_alike) noexcept {
    for (;; at = next(at)) {
      if (at >= text_.size()) return text_.size();
      load(at);
      const unsigned from = at % ScanKernels::kBlock;
      const std::uint64_t stops = marks_.no_token >> from;
      const std::uint64_t alike = marks_.look_alike >> from;
      if (stops == 0) {
        look_alike = look_alike || alike != 0;
        continue;
      }
      look_alike = look_alike || (alike & (stops - 1) & ~stops) != 0;
      return found(at, stops);
    }
  }
  [[nodiscard]] std::size_t no_value(std::size_t at) noexcept {
    return first<&Marks::no_value>(at);
  }
  [[nodiscard]] std::size_t no_target(std::size_t at) noexcept {
    return first<&Marks::no_target>(at);
  }

 private:
  template <std::uint64_t Marks::* kBits>
  std::size_t first(std::size_t at) noexcept {
    for (; at < text_.size(); at = next(at)) {
      load(at);
      const std::uint64_t stops = marks_.*kBits >> at % ScanKernels::kBlock;
      if (stops != 0) return found(at, stops);
    }
    return text_.size();
  }
  static std::size_t next(std::size_t at) noexcept { return (at | (ScanKernels::kBlock - 1)) + 1; }
  [[nodiscard]] std::size_t found(std::size_t at, std::uint64_t stops) const noexcept {
    return std::min(at + static_cast<std::size_t>(std::countr_zero(stops)), text_.size());
  }
  void load(std::size_t at) noexcept {
    const std::size_t block = at / ScanKernels::kBlock * ScanKernels::kBlock;
    if (block == block_) return;
    block_ = block;
    kernels_.block(text_.data() + block, std::min(ScanKernels::kBlock, text_.size() - block),
                   marks_);
  }

  std::string_view text_;
  const ScanKernels& kernels_;
  std::size_t block_ = std::string_view::npos;
  Marks marks_;
};

struct Line {
  std::size_t end = 0;       // behind its LF; of the text: it is not here yet
  std::size_t name_end = 0;  // the first byte that is no token
  bool here = false;
  bool clean = false;  // every byte up to its CRLF may stand in a value
  bool look_alike = false;
};

// The line at `at`, where nothing up to `seen` is an LF. One that is seen for the first time goes
// through the kernel; one that a read has cut is looked at again only when it is whole, so that a
// slow sender costs no more than a fast one.
Line find_line(std::string_view text, std::size_t at, std::size_t seen, Marked& marked) noexcept {
  Line out;
  out.end = text.size();
  if (text.size() - at >= 2 && text[at] == '\r' && text[at + 1] == '\n') {  // the end of a head
    out.end = at + 2;
    out.here = true;
    return out;
  }
  if (seen > at && text.find('\n', seen) == std::string_view::npos) return out;
  out.name_end = marked.no_token(at, out.look_alike);
  const std::size_t stop = marked.no_value(out.name_end);
  if (text.size() - stop >= 2 && text[stop] == '\r' && text[stop + 1] == '\n') {
    out.end = stop + 2;
    out.here = out.clean = true;
  } else if (const std::size_t lf = text.find('\n', stop); lf != std::string_view::npos) {
    out.end = lf + 1;
    out.here = true;
  }
  return out;
}

bool clean_request_line(std::string_view text, std::size_t at, const Line& line, Marked& marked,
                        StartLine& out) noexcept {
  const std::size_t method = line.name_end;
  if (method == at || text[method] != ' ') return false;
  const std::size_t target = marked.no_target(method + 1);
  if (target == method + 1 || text[target] != ' ') return false;
  out = {text.substr(at, method - at), text.substr(method + 1, target - method - 1),
         text.substr(target + 1, line.end - 2 - (target + 1))};
  return true;
}

bool clean_field(std::string_view text, std::size_t at, const Line& line, Field& out) noexcept {
  const char* const name = text.data() + at;
  const char* from = text.data() + line.name_end;
  if (from == name || *from != ':') return false;
  out.name = {name, static_cast<std::size_t>(from - name)};
  const char* end = text.data() + line.end - 2;
  ++from;
  while (from != end && is_blank(*from)) ++from;
  while (end != from && is_blank(end[-1])) --end;
  out.value = {from, static_cast<std::size_t>(end - from)};
  out.id = field_of(out.name);
  out.drop = line.look_alike;
  return true;
}

}  // namespace

ScanState scan_head(std::string_view text, ScanKind kind, const ScanLimits& limits,
                    ScanProgress& progress, StartLine& start, std::span<Field> fields,
                    Reset& bad) noexcept {
  return scan_head(text, kind, limits, progress, start, fields, bad, scan_kernels());
}

ScanState scan_head(std::string_view text, ScanKind kind, const ScanLimits& limits,
                    ScanProgress& progress, StartLine& start, std::span<Field> fields, Reset& bad,
                    const ScanKernels& kernels) noexcept {
  Marked marked(text, kernels);
  Field spare;
  for (;;) {
    const std::size_t at = progress.line_at;
    const Line line = find_line(text, at, progress.seen, marked);
    const bool in_start = !progress.started && kind != ScanKind::kTrailers;
    // At once: what is no request may never have an end of line.
    if (in_start && kind == ScanKind::kRequest && !may_begin_request(text, at)) {
      return bad = bad_request(text[at] == kTlsHandshake ? "TLS where plain HTTP is expected"
                                                         : "not a method"),
             ScanState::kBad;
    }
    if (in_start && line.end - at > limits.max_line + 2) {
      return bad = {Why::kLimit, 414, "start line too long"}, ScanState::kBad;
    }
    if (line.end > limits.max_bytes)
      return bad = {Why::kLimit, 431, "head too large"}, ScanState::kBad;
    if (!line.here) return progress.seen = text.size(), ScanState::kMore;
    if (!line.clean && (line.end - at < 2 || text[line.end - 2] != '\r'))
      return bad = bad_request("bare LF"), ScanState::kBad;

    const std::size_t size = line.end - 2 - at;
    if (in_start) {
      const std::string_view all = text.substr(at, size);
      const bool fine = kind == ScanKind::kRequest
                            ? (line.clean && clean_request_line(text, at, line, marked, start)) ||
                                  scan_request_line(all, start, bad)
                            : scan_status_line(all, line.clean, start, bad);
      if (!fine) return ScanState::kBad;
      progress.started = true;
    } else if (size == 0) {
      progress.line_at = line.end;
      return ScanState::kDone;
    } else {
      if (progress.fields >= limits.max_fields)
        return bad = {Why::kLimit, 431, "too many fields"}, ScanState::kBad;
      Field& field = progress.fields < fields.size() ? fields[progress.fields] : spare;
      if (!line.clean || !clean_field(text, at, line, field)) {
        const bool lenient = kind == ScanKind::kResponse;
        const char* const begin = text.data() + at;
        if (!scan_field(begin, begin + size, lenient, field, bad)) return ScanState::kBad;
        progress.untidy = true;
      }
      ++progress.fields;
    }
    progress.line_at = line.end;
  }
}

}  // namespace steelyard::http
