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

  Http1Reader(Http1Pool& pool, ScanKind kind) noexcept : pool_(&pool), kind_(kind) {}

  // Ready for the next message. `asked`, of an answer, must stay until its head is here.
  void begin(const Asked* asked = nullptr) noexcept;
  // The message that is over was the last one: all that comes now is a body until FIN.
  void tunnel() noexcept { phase_ = Phase::kUntilClose; }
  void add(base::Buf bytes) noexcept;
  [[nodiscard]] Got next() noexcept;
  // The peer's FIN: kEnd when that ends the message well (body until close), else kBad.
  [[nodiscard]] Got finish() noexcept;

  // Until anything of the pool is parsed again. Call `let_lines_go` behind kHead, kTrailers and, of
  // a request, kBad.
  [[nodiscard]] const Head& head() const noexcept { return pool_->head(); }
  void let_lines_go() noexcept { pool_->lines() = {}; }
  [[nodiscard]] std::span<const Field> trailers() const noexcept {
    return pool_->fields().first(trailers_);
  }
  [[nodiscard]] base::Buf take_body() noexcept { return std::move(pool_->body()); }
  [[nodiscard]] Reset bad() const noexcept { return pool_->bad(); }
  // Of a request whose head is bad, or is not whole yet: what there is of it.
  [[nodiscard]] std::string_view half_head() const noexcept {
    return is_partial() ? joins_->partial.text() : pool_->lines().text();
  }
  // Bytes received and not given out.
  [[nodiscard]] std::size_t unread() const noexcept {
    return in_.size() + (joins_ == nullptr ? 0 : joins_->partial.size() + joins_->backlog.size());
  }
  // Gives back what it holds; what it gave last stays valid. Nothing comes after this.
  void drop() noexcept {
    in_ = {};
    joins_ = nullptr;
  }
  // No byte of the message has come (empty lines before a request do not count).
  [[nodiscard]] bool untouched() const noexcept {
    return phase_ == Phase::kHead && in_.empty() && !is_partial();
  }
  [[nodiscard]] bool has_more() const noexcept { return !in_.empty() || has_backlog(); }
  // Bytes of blocks in which parts of a message wait for the rest.
  [[nodiscard]] std::size_t held() const noexcept {
    return joins_ == nullptr ? 0 : joins_->partial.room() + joins_->backlog.room();
  }
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
  [[nodiscard]] bool is_partial() const noexcept {
    return joins_ != nullptr && !joins_->partial.empty();
  }
  [[nodiscard]] bool has_backlog() const noexcept {
    return joins_ != nullptr && !joins_->backlog.empty();
  }
  [[nodiscard]] Joins& joins() {
    if (joins_ == nullptr) joins_ = pool_->joins();
    return *joins_;
  }
  Got next_head() noexcept;
  Got next_trailers() noexcept;
  Got next_chunk_part() noexcept;
  Got next_data(Phase after) noexcept;
  bool size_byte(char c) noexcept;
  bool extension_byte(char c) noexcept;
  bool size_done() noexcept;
  ScanState scan_lines(ScanKind kind, std::span<Field> fields) noexcept;
  bool skip_empty_lines() noexcept;
  void keep_bad_head() noexcept;
  Got fail(const Reset& why) noexcept;

  Http1Pool* pool_;
  const Asked* asked_ = nullptr;
  ScanKind kind_;
  Phase phase_ = Phase::kHead;
  std::uint8_t digits_ = 0;       // of the chunk size
  std::uint8_t empty_lines_ = 0;  // skipped before the request line
  std::uint32_t extensions_ = 0;  // bytes of chunk extensions in this message
  std::uint32_t trailers_ = 0;
  std::uint64_t left_ = 0;   // of the body or the chunk
  std::uint64_t total_ = 0;  // body bytes of a chunked message so far, the announced chunk included
  ScanProgress progress_;
  base::Buf in_;  // received, not used yet
  Http1Pool::SomeJoins joins_;
};

}  // namespace steelyard::http
