// Http1Pool: what the HTTP/1 codecs of one worker share, so that an idle codec holds nothing: the
// limits, the one array of parsed fields, and blocks for joining what was split over reads. Join:
// bytes that grow at the end, in such blocks.
//
// Blocks come in four sizes and are kept for reuse up to kKeepBytes, so joining does not allocate
// after warm-up. The pool must outlive its codecs and every Buf of its blocks. Threads: one.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

#include "steelyard/base/buf.h"
#include "steelyard/http/head.h"
#include "steelyard/http/http1.h"

namespace steelyard::http {

class Http1Pool {
 public:
  explicit Http1Pool(const Http1Limits& limits);
  Http1Pool(const Http1Pool&) = delete;
  Http1Pool& operator=(const Http1Pool&) = delete;
  ~Http1Pool();

  [[nodiscard]] const Http1Limits& limits() const noexcept { return limits_; }
  [[nodiscard]] std::span<Field> fields() noexcept { return fields_; }
  // Writable memory of at least `bytes`; `text` points into `buf`.
  struct Block {
    base::Buf buf;
    char* text = nullptr;
  };
  [[nodiscard]] Block take(std::size_t bytes);
  [[nodiscard]] std::size_t blocks_made() const noexcept {
    return made_;
  }  // for tests: flat after warm-up

 private:
  struct Cell;
  static void give_back(base::Storage* storage) noexcept;
  static constexpr std::array<std::size_t, 4> kSizes{2048, 16384, 73728, 270336};
  static constexpr std::size_t kKeepBytes = std::size_t{2}
                                            << 20;  // a guess: 1000 small heads in progress

  Http1Limits limits_;
  std::vector<Field> fields_;
  std::array<std::vector<std::unique_ptr<Cell>>, kSizes.size()> free_;
  std::size_t kept_ = 0;
  std::size_t made_ = 0;
};

class Join {
 public:
  explicit Join(Http1Pool& pool) noexcept : pool_(&pool) {}
  void append(std::string_view bytes);
  [[nodiscard]] std::string_view text() const noexcept { return {text_, size_}; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  // Everything, as a Buf; empty afterwards.
  [[nodiscard]] base::Buf take() noexcept;
  void clear() noexcept { (void)take(); }

 private:
  Http1Pool* pool_;
  base::Buf block_;
  char* text_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace steelyard::http
