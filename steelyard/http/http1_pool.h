// Http1Pool: what the HTTP/1 codecs of one worker share, so that an idle codec holds nothing: the
// limits, what was parsed last (start line, head, fields, body part, fault), and Joins with their
// blocks for what was split over reads. Join: bytes that grow at the end, in such blocks.
//
// Blocks come in four sizes and are kept for reuse up to kKeepBytes, so joining does not allocate
// after warm-up; `trim` frees what no load of the last minute needed (base/surplus.h). The pool
// must outlive its codecs and every Buf of its blocks. Threads: one.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

#include "steelyard/base/buf.h"
#include "steelyard/base/surplus.h"
#include "steelyard/http/head.h"
#include "steelyard/http/http1.h"
#include "steelyard/http/scan.h"
#include "steelyard/http/scan_kernels.h"

namespace steelyard::http {

struct Joins;

class Http1Pool {
 public:
  explicit Http1Pool(const Http1Limits& limits);
  Http1Pool(const Http1Pool&) = delete;
  Http1Pool& operator=(const Http1Pool&) = delete;
  ~Http1Pool();

  [[nodiscard]] const Http1Limits& limits() const noexcept { return limits_; }
  [[nodiscard]] const ScanKernels& kernels() const noexcept { return kernels_; }
  // Of the message being read: the codecs of a worker read one at a time.
  [[nodiscard]] std::span<Field> fields() noexcept { return fields_; }
  [[nodiscard]] StartLine& start() noexcept { return start_; }
  [[nodiscard]] Head& head() noexcept { return head_; }
  [[nodiscard]] base::Buf& lines() noexcept { return lines_; }  // the head, while it is looked at
  [[nodiscard]] base::Buf& body() noexcept { return body_; }    // until it is taken
  [[nodiscard]] Reset& bad() noexcept { return bad_; }
  // Writable memory of at least `bytes`; `text` points into `buf`.
  struct Block {
    base::Buf buf;
    char* text = nullptr;
  };
  [[nodiscard]] Block take(std::size_t bytes);
  [[nodiscard]] std::size_t lent() const noexcept { return lent_; }  // bytes
  std::size_t trim(bool second) noexcept;
  [[nodiscard]] std::size_t blocks_made() const noexcept {
    return made_;
  }  // for tests: flat after warm-up
  // Of a codec that has something split over reads.
  struct GiveBack {
    void operator()(Joins* joins) const noexcept;
  };
  using SomeJoins = std::unique_ptr<Joins, GiveBack>;
  [[nodiscard]] SomeJoins joins();

 private:
  struct Cell;
  static void give_back(base::Storage* storage) noexcept;
  static constexpr std::array<std::size_t, 4> kSizes{2048, 16384, 73728, 270336};
  static constexpr std::size_t kKeepBytes = std::size_t{2}
                                            << 20;  // a guess: 1000 small heads in progress

  Http1Limits limits_;
  const ScanKernels& kernels_ = scan_kernels();
  std::vector<Field> fields_;
  StartLine start_;
  Head head_;
  base::Buf lines_;
  base::Buf body_;
  Reset bad_;
  std::array<std::vector<std::unique_ptr<Cell>>, kSizes.size()> free_;
  std::array<base::Surplus, kSizes.size()> surplus_;  // of them
  std::vector<std::unique_ptr<Joins>> free_joins_;
  std::size_t kept_ = 0;
  std::size_t lent_ = 0;
  std::size_t made_ = 0;
};

class Join {
 public:
  explicit Join(Http1Pool& pool) noexcept : pool_(&pool) {}
  void append(std::string_view bytes);
  [[nodiscard]] std::string_view text() const noexcept { return {text_, size_}; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] std::size_t room() const noexcept { return block_.size(); }  // bytes it holds
  // Everything, as a Buf; empty afterwards.
  [[nodiscard]] base::Buf take() noexcept;
  void clear() noexcept { (void)take(); }

 private:
  Http1Pool* pool_;
  base::Buf block_;
  char* text_ = nullptr;
  std::size_t size_ = 0;
};

struct Joins {
  explicit Joins(Http1Pool& whose) noexcept : pool(whose), partial(whose), backlog(whose) {}
  Http1Pool& pool;
  Join partial;  // the lines of a head or trailer section that a read cut
  Join backlog;  // behind a message that is over
};

}  // namespace steelyard::http
