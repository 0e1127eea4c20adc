#include "steelyard/http/http1_reader.h"

#include <algorithm>
#include <limits>

#include "steelyard/http/chars.h"

namespace steelyard::http {
namespace {

constexpr std::uint8_t kMaxEmptyLines = 2;           // RFC 9112 2.2 asks for at least one
constexpr std::uint32_t kMaxExtensions = 16 * 1024;  // of a message: nobody uses them, floods do
constexpr std::uint8_t kMaxSizeDigits = 16;

std::uint64_t hex_value(char c) noexcept {
  return static_cast<std::uint64_t>(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
}

}  // namespace

void Http1Reader::begin(const Asked* asked) noexcept {
  phase_ = Phase::kHead;
  asked_ = asked;
  empty_lines_ = 0;
  digits_ = 0;
  extensions_ = 0;
  trailers_ = 0;
  left_ = total_ = 0;
  progress_ = {};
  if (has_backlog()) in_ = joins_->backlog.take();
  joins_ = nullptr;
  if (in_.empty()) in_ = {};  // an idle connection pins no receive buffer
}

void Http1Reader::add(base::Buf bytes) noexcept {
  if (bytes.empty() || phase_ == Phase::kBad) return;
  if (!has_more()) {
    in_ = std::move(bytes);
    return;
  }
  Join& backlog = joins().backlog;
  if (backlog.empty()) backlog.append(in_.text());
  in_ = {};
  backlog.append(bytes.text());
}

// For the log: whoever asked is told what was wrong with it.
void Http1Reader::keep_bad_head() noexcept {
  if (is_partial()) {
    pool_->lines() = joins_->partial.take();
  } else if (pool_->lines().empty()) {
    pool_->lines() = std::move(in_);
  }
}

Http1Reader::Got Http1Reader::fail(const Reset& why) noexcept {
  pool_->bad() = why;
  if (kind_ == ScanKind::kResponse) pool_->bad().status = 502;
  if (kind_ == ScanKind::kRequest && phase_ == Phase::kHead) {
    keep_bad_head();
  } else {
    let_lines_go();
  }
  phase_ = Phase::kBad;
  in_ = {};
  joins_ = nullptr;
  return Got::kBad;
}

Http1Reader::Got Http1Reader::next() noexcept {
  switch (phase_) {
    case Phase::kHead:
      return next_head();
    case Phase::kTrailers:
      return next_trailers();
    case Phase::kLength:
      return left_ == 0 ? (phase_ = Phase::kOver, Got::kEnd) : next_data(Phase::kLength);
    case Phase::kUntilClose:
      if (in_.empty() && has_backlog()) in_ = joins_->backlog.take();
      if (in_.empty()) return Got::kMore;
      pool_->body() = std::move(in_);
      return Got::kBody;
    case Phase::kOver:
      return Got::kMore;
    case Phase::kBad:
      return Got::kMore;
    default:
      return next_chunk_part();
  }
}

Http1Reader::Got Http1Reader::finish() noexcept {
  switch (phase_) {
    case Phase::kUntilClose:
      phase_ = Phase::kOver;
      return Got::kEnd;
    case Phase::kOver:
      return Got::kMore;
    case Phase::kBad:
      return Got::kMore;
    case Phase::kHead:
      return fail({untouched() ? Why::kClosed : Why::kTruncated, 400, "the connection ended"});
    default:
      return fail({Why::kTruncated, 400, "the connection ended in the body"});
  }
}

// Scans the lines of in_, or of what is joined with it. On kDone the pool's lines hold exactly the
// section and in_ what follows.
ScanState Http1Reader::scan_lines(ScanKind kind, std::span<Field> fields) noexcept {
  const Http1Limits& most = pool_->limits();
  const ScanLimits limits{most.max_head, most.max_fields, most.max_line};
  if (!is_partial()) {
    const ScanState state = scan_head(in_.text(), kind, limits, progress_, pool_->start(), fields,
                                      pool_->bad(), pool_->kernels());
    if (state == ScanState::kDone) {
      pool_->lines() = in_.share(0, progress_.line_at);
      in_.trim_front(progress_.line_at);
      if (in_.empty()) in_ = {};  // pins nothing while the exchange runs
    } else if (state == ScanState::kMore) {
      joins().partial.append(in_.text());
      in_ = {};
    }
    return state;
  }
  Join& partial = joins_->partial;
  while (!in_.empty()) {  // join line by line: what follows the section is not copied
    const std::size_t lf = in_.text().find('\n');
    const std::size_t size = lf == std::string_view::npos ? in_.size() : lf + 1;
    const std::size_t room =
        most.max_head + 1 > partial.size() ? most.max_head + 1 - partial.size() : 0;
    partial.append(in_.text().substr(0, std::min(size, room)));
    in_.trim_front(size);
    const ScanState state = scan_head(partial.text(), kind, limits, progress_, pool_->start(), {},
                                      pool_->bad(), pool_->kernels());
    if (state == ScanState::kBad) return state;
    if (state == ScanState::kDone) {
      base::Buf& lines = pool_->lines();
      lines = partial.take();
      progress_ = {};  // the text moved while it grew: the views are made now
      return scan_head(lines.text(), kind, limits, progress_, pool_->start(), fields, pool_->bad());
    }
  }
  return ScanState::kMore;
}

// False: wait for more, or bad (then phase_ is kBad).
bool Http1Reader::skip_empty_lines() noexcept {
  if (is_partial() && joins_->partial.text() != "\r") return true;
  for (;;) {
    if (in_.empty()) return false;
    const bool half = is_partial();
    const std::string_view text = in_.text();
    if (!half && text[0] == '\n') return fail({Why::kProtocol, 400, "bare LF"}), false;
    if (!half && text[0] != '\r') return true;
    if (!half && text.size() == 1) {
      joins().partial.append("\r");
      in_ = {};
      return false;
    }
    if (text[half ? 0 : 1] != '\n') return fail({Why::kProtocol, 400, "bare CR"}), false;
    if (++empty_lines_ > kMaxEmptyLines)
      return fail({Why::kProtocol, 400, "empty lines before the request"}), false;
    in_.trim_front(half ? 1 : 2);
    if (half) joins_->partial.clear();
  }
}

Http1Reader::Got Http1Reader::next_head() noexcept {
  if (in_.empty()) return Got::kMore;
  if (kind_ == ScanKind::kRequest && !progress_.started && !skip_empty_lines()) {
    return phase_ == Phase::kBad ? Got::kBad : Got::kMore;
  }
  switch (scan_lines(kind_, pool_->fields())) {
    case ScanState::kMore:
      return Got::kMore;
    case ScanState::kBad:
      return fail(pool_->bad());
    case ScanState::kDone:
      break;
  }
  const std::span<Field> fields = pool_->fields().first(progress_.fields);
  Head& head = pool_->head();
  const Meaning meaning = kind_ == ScanKind::kRequest
                              ? understand_request(pool_->start(), fields, pool_->limits(), head)
                              : understand_response(pool_->start(), fields, *asked_, head);
  if (!meaning.ok) return fail(meaning.bad);
  head.clean = head.clean && !progress_.untidy;
  head.raw = &pool_->lines();
  progress_ = {};
  if (head.is_interim()) return Got::kHead;  // another head follows
  left_ = head.length;
  switch (meaning.framing) {
    case Framing::kNone:
      left_ = 0;
      phase_ = Phase::kLength;
      break;
    case Framing::kLength:
      phase_ = Phase::kLength;
      break;
    case Framing::kChunked:
      phase_ = Phase::kSize;
      break;
    case Framing::kUntilClose:
      phase_ = Phase::kUntilClose;
      break;
  }
  return Got::kHead;
}

Http1Reader::Got Http1Reader::next_trailers() noexcept {
  if (trailers_ != 0) return trailers_ = 0, phase_ = Phase::kOver, Got::kEnd;
  if (in_.empty()) return Got::kMore;
  switch (scan_lines(ScanKind::kTrailers, pool_->fields())) {
    case ScanState::kMore:
      return Got::kMore;
    case ScanState::kBad:
      return fail(pool_->bad());
    case ScanState::kDone:
      break;
  }
  if (!sound_trailers(pool_->fields().first(progress_.fields))) {
    return fail({Why::kProtocol, 400, "bad framing field among the trailers"});
  }
  trailers_ =
      static_cast<std::uint32_t>(keep_good_trailers(pool_->fields().first(progress_.fields)));
  if (trailers_ != 0) return Got::kTrailers;
  let_lines_go();
  phase_ = Phase::kOver;
  return Got::kEnd;
}

Http1Reader::Got Http1Reader::next_data(Phase after) noexcept {
  if (in_.empty()) return Got::kMore;
  const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(left_, in_.size()));
  left_ -= size;
  if (size == in_.size()) {
    pool_->body() = std::move(in_);
  } else {
    pool_->body() = in_.share(0, size);
    in_.trim_front(size);
  }
  if (left_ == 0) phase_ = after;
  return Got::kBody;
}

bool Http1Reader::size_byte(char c) noexcept {
  if (is_char(c, kHex)) {
    if (++digits_ > kMaxSizeDigits)
      return pool_->bad() = {Why::kProtocol, 400, "chunk size too long"}, false;
    left_ = left_ << 4 | hex_value(c);
    return true;
  }
  if (digits_ == 0 || (c != '\r' && c != ';'))
    return pool_->bad() = {Why::kProtocol, 400, "bad chunk size"}, false;
  phase_ = c == ';' ? Phase::kExtension : Phase::kSizeLf;
  return true;
}

bool Http1Reader::extension_byte(char c) noexcept {
  if (c == '\r') return phase_ = Phase::kSizeLf, true;
  if (!is_char(c, kValue))
    return pool_->bad() = {Why::kProtocol, 400, "bad chunk extension"}, false;
  if (++extensions_ > kMaxExtensions)
    return pool_->bad() = {Why::kLimit, 413, "chunk extensions too long"}, false;
  return true;
}

bool Http1Reader::size_done() noexcept {
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  const std::uint64_t max_body = pool_->limits().max_body;
  const bool limited = kind_ == ScanKind::kRequest && max_body != 0;
  if (left_ > kMost - total_)
    return pool_->bad() = {Why::kProtocol, 400, "chunk size too large"}, false;
  total_ += left_;
  if (limited && total_ > max_body)
    return pool_->bad() = {Why::kLimit, 413, "body too large"}, false;
  phase_ = left_ == 0 ? Phase::kTrailers : Phase::kData;
  digits_ = 0;
  return true;
}

Http1Reader::Got Http1Reader::next_chunk_part() noexcept {
  while (!in_.empty()) {
    if (phase_ == Phase::kData) return next_data(Phase::kDataCr);
    if (phase_ == Phase::kTrailers) return next_trailers();
    const char c = in_.text().front();
    in_.trim_front(1);
    bool fine = true;
    switch (phase_) {
      case Phase::kSize:
        fine = size_byte(c);
        break;
      case Phase::kExtension:
        fine = extension_byte(c);
        break;
      case Phase::kSizeLf:
        fine = c == '\n' && size_done();
        if (c != '\n') pool_->bad() = {Why::kProtocol, 400, "bare CR after a chunk size"};
        break;
      case Phase::kDataCr:
        fine = c == '\r';
        pool_->bad() = {Why::kProtocol, 400, "no CRLF after a chunk"};
        phase_ = Phase::kDataLf;
        break;
      default:  // kDataLf
        fine = c == '\n';
        pool_->bad() = {Why::kProtocol, 400, "no CRLF after a chunk"};
        phase_ = Phase::kSize;
        break;
    }
    if (!fine) return fail(pool_->bad());
  }
  return Got::kMore;
}

}  // namespace steelyard::http
