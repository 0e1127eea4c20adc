// The kinds of scan kernels beside the plain one: every byte at every place of every length, in
// front of a page that must not be touched; then whole heads.

#include "steelyard/http/scan.h"

#include <cstring>
#include <gtest/gtest.h>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

#include "steelyard/base/rng.h"
#include "steelyard/http/scan_kernels.h"

namespace steelyard::http {
namespace {

class Guarded {  // a page between two that end the process when they are read
 public:
  Guarded() : page_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))) {
    void* const all = mmap(nullptr, 3 * page_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT_NE(all, MAP_FAILED);
    all_ = static_cast<char*>(all);
    EXPECT_EQ(mprotect(all_ + page_, page_, PROT_READ | PROT_WRITE), 0);
  }
  ~Guarded() { munmap(all_, 3 * page_); }
  Guarded(const Guarded&) = delete;
  char* last(std::size_t size) { return all_ + 2 * page_ - size; }
  char* first() { return all_ + page_; }

 private:
  std::size_t page_;
  char* all_ = nullptr;
};

void expect_same(const char* at, std::size_t size) {
  Marks want;
  plain_kernels().block(at, size, want);
  for (const auto* const kernels : all_scan_kernels().subspan(1)) {
    Marks got;
    kernels->block(at, size, got);
    if (got.no_token != want.no_token || got.no_value != want.no_value ||
        got.no_target != want.no_target || got.look_alike != want.look_alike)
      FAIL() << kernels->name << " differs for \"" << std::string(at, size) << "\"";
  }
}

TEST(ScanKernels, PlainFindsWhatTheTablesSay) {
  for (unsigned c = 0; c < 256; ++c) {
    const std::string text = std::string("a_b") + static_cast<char>(c) + "x";
    Marks marks;
    plain_kernels().block(text.data(), text.size(), marks);
    const std::uint64_t behind = ~std::uint64_t{0} << 5;
    const auto want = [&](std::uint8_t kind) {
      return behind | (is_char(text[3], kind) ? 0 : std::uint64_t{8});
    };
    EXPECT_EQ(marks.no_token, want(kToken));
    EXPECT_EQ(marks.no_value, want(kValue));
    EXPECT_EQ(marks.no_target, want(kTarget));
    EXPECT_EQ(marks.look_alike, c == '_' ? 10U : 2U);
  }
}

TEST(ScanKernels, AreEqualForEveryByteAtEveryPlaceOfEveryLength) {
  Guarded memory;
  ASSERT_GE(all_scan_kernels().size(), 1U);
  for (std::size_t size = 1; size <= ScanKernels::kBlock; ++size) {
    for (const std::string_view fill :
         {"a", "a:", "_"}) {  // in the name, in the value, look-alikes
      for (char* const at : {memory.last(size), memory.first()}) {
        for (std::size_t i = 0; i < size; ++i) at[i] = i == 3 ? fill.back() : fill.front();
        expect_same(at, size);
        for (std::size_t place = 0; place < size; ++place) {
          const char was = at[place];
          for (unsigned c = 0; c < 256; ++c) {
            at[place] = static_cast<char>(c);
            expect_same(at, size);
          }
          at[place] = was;
        }
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(ScanKernels, AreEqualAtEveryAlignment) {
  Guarded memory;
  base::Rng rng(3);
  for (int round = 0; round < 400; ++round) {
    char* const page = memory.first();
    for (std::size_t i = 0; i < 256; ++i) {
      page[i] = static_cast<char>(rng.below(30) == 0 ? rng.below(256) : 'a' + rng.below(26));
    }
    for (std::size_t from = 0; from < 64; ++from) {
      expect_same(page + from, 1 + rng.below(ScanKernels::kBlock));
    }
    if (HasFatalFailure()) return;
  }
}

struct Verdict {
  ScanState state{};
  std::size_t size = 0, count = 0;
  std::uint16_t status = 0;
  std::string said, words;
  friend bool operator==(const Verdict&, const Verdict&) = default;
};

// As a connection would: grown by `step` bytes a time.
Verdict judge(std::string_view text, ScanKind kind, std::size_t step, const ScanKernels& kernels) {
  const ScanLimits limits{400, 8, 120};
  ScanProgress progress;
  StartLine start;
  Field fields[8];
  Reset bad;
  Verdict out;
  for (std::size_t size = std::min(step, text.size());; size = std::min(size + step, text.size())) {
    out.state =
        scan_head(text.substr(0, size), kind, limits, progress, start, fields, bad, kernels);
    if (out.state != ScanState::kMore || size == text.size()) break;
  }
  if (out.state == ScanState::kBad) {
    out.status = bad.status;
    out.said = bad.text;
    return out;
  }
  out.size = progress.line_at;
  out.count = progress.fields;
  out.words =
      std::string(start.first) + "|" + std::string(start.second) + "|" + std::string(start.third);
  for (const Field& field : std::span(fields).first(progress.fields)) {
    out.words += "\n" + std::string(field.name) + "|" + std::string(field.value) + "|" +
                 std::to_string(static_cast<int>(field.id)) + (field.drop ? "drop" : "");
  }
  return out;
}

TEST(ScanHead, GivesTheSameVerdictWithEveryKindAndHoweverItGrows) {
  base::Rng rng(11);
  std::size_t done = 0;
  for (int round = 0; round < 3000; ++round) {
    const auto kind = static_cast<ScanKind>(rng.below(3));
    std::string text = kind == ScanKind::kRequest
                           ? "GET /a?b=" + std::string(rng.below(60), 'c') + " HTTP/1.1\r\n"
                       : kind == ScanKind::kResponse ? "HTTP/1.1 200 OK\r\n"
                                                     : "";
    for (std::size_t i = rng.below(9); i > 0; --i) {
      text += std::string(1 + rng.below(20), "aB-_"[rng.below(4)]) + ":" +
              std::string(rng.below(3), ' ') + std::string(rng.below(50), 'v') + "\r\n";
    }
    text += "\r\nbehind";
    for (std::size_t i = rng.below(3); i > 0; --i) {
      text[rng.below(text.size())] = static_cast<char>(
          rng.below(2) == 0 ? rng.below(256)
                            : static_cast<unsigned>("\r\n\t :_#\x7f"[rng.below(8)]));
    }
    const Verdict want = judge(text, kind, text.size(), plain_kernels());
    done += want.state == ScanState::kDone ? 1U : 0U;
    for (const auto* const kernels : all_scan_kernels()) {
      for (const std::size_t step : {std::size_t{1}, 1 + rng.below(40), text.size()})
        ASSERT_EQ(judge(text, kind, step, *kernels), want) << kernels->name << " " << text;
    }
  }
  EXPECT_GT(done, 500U);
}

}  // namespace
}  // namespace steelyard::http
