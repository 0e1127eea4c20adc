// Http1Reader: received bytes → the parts of one HTTP/1 message after the other. Both codecs read
// through it.
//
// `add` hands bytes in, `next` gives the next part until it says kMore. Heads and trailers are
// parsed in place; what a read cut in two is joined line by line, so that body bytes behind a head
// are never copied. Bytes beyond the message's end stay until `begin` starts the next one. The
// verdict never depends on how the bytes were cut. What `head`, `fields` and `body` give is valid
// until the next call of `next`.
#pragma once

#include <cstdint>

#include "steelyard/http/framing.h"
#include "steelyard/http/http1_pool.h"
#include "steelyard/http/scan.h"

namespace steelyard::http {

class Http1Reader {
 public:
  enum class Got : std::uint8_t { kMore, kHead, kBody, kTrailers, kEnd, kBad };

  Http1Reader(Http1Pool& pool, ScanKind kind) noexcept
      : pool_(&pool), kind_(kind), partial_(pool), backlog_(pool) {}

  // Ready for the next message; `asked` is the method that an answer answers.
  void begin(Method asked = Method::kOther) noexcept;
  void add(base::Buf bytes) noexcept;
  [[nodiscard]] Got next() noexcept;
  // The peer's FIN: kEnd when that ends the message well (body until close), else kBad.
  [[nodiscard]] Got finish() noexcept;

  [[nodiscard]] const Head& head() const noexcept { return head_; }
  [[nodiscard]] std::span<const Field> trailers() const noexcept {
    return pool_->fields().first(trailers_);
  }
  [[nodiscard]] base::Buf take_body() noexcept { return std::move(body_); }
  [[nodiscard]] const Reset& bad() const noexcept { return bad_; }
  // No byte of the message has come (empty lines before a request do not count).
  [[nodiscard]] bool untouched() const noexcept {
    return phase_ == Phase::kHead && in_.empty() && partial_.empty();
  }
  [[nodiscard]] bool has_more() const noexcept { return !in_.empty() || !backlog_.empty(); }
  // Body bytes that are still to come, when that is known.
  [[nodiscard]] bool body_left_at_most(std::uint64_t bytes) const noexcept {
    return phase_ == Phase::kOver || (phase_ == Phase::kLength && left_ <= bytes);
  }

 private:
  enum class Phase : std::uint8_t {
    kHead,
    kLength,
    kUntilClose,
    kSize,
    kExtension,
    kSizeLf,
    kData,
    kDataCr,
    kDataLf,
    kTrailers,
    kOver,
    kBad,
  };
  Got next_head() noexcept;
  Got next_trailers() noexcept;
  Got next_chunk_part() noexcept;
  Got next_data(Phase after) noexcept;
  bool size_byte(char c) noexcept;
  bool extension_byte(char c) noexcept;
  bool size_done() noexcept;
  ScanState scan_lines(ScanKind kind, std::span<Field> fields) noexcept;
  bool skip_empty_lines() noexcept;
  Got fail(const Reset& why) noexcept;

  Http1Pool* pool_;
  ScanKind kind_;
  Phase phase_ = Phase::kHead;
  Method asked_ = Method::kOther;
  std::uint8_t digits_ = 0;       // of the chunk size
  std::uint8_t empty_lines_ = 0;  // skipped before the request line
  std::uint32_t extensions_ = 0;  // bytes of chunk extensions in this message
  std::uint32_t trailers_ = 0;
  std::uint64_t left_ = 0;   // of the body or the chunk
  std::uint64_t total_ = 0;  // body bytes of a chunked message so far, the announced chunk included
  ScanProgress progress_;
  StartLine start_;
  Reset bad_;
  base::Buf in_;     // received, not used yet
  Join partial_;     // the lines of a head or trailer section that a read cut
  Join backlog_;     // behind a message that is over
  base::Buf lines_;  // the whole head, while it is looked at
  base::Buf body_;
  Head head_;
};

}  // namespace steelyard::http
