// Log-linear histogram of durations: 8 linear steps a power of two, from 1 µs to about 134 s,
// relative error ≤ 6.3 %.
//
// `HistogramShape` is the arithmetic (index of a value, bounds of a bucket). `Histogram` is plain
// counts for one thread; `CellHistogram` is the same over Cells (one writer, many readers). Buckets
// are raw and mergeable; nobody averages percentiles. Values below 1 µs count in bucket 0, above
// the top in the last one. Cost: add = a few instructions, no branch on the bucket count; quantile
// = O(buckets). Memory: kBuckets × 4 bytes.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <optional>

#include "steelyard/base/cell.h"
#include "steelyard/base/time.h"

namespace steelyard::base {

struct HistogramShape {
  static constexpr unsigned kSubBits = 3;  // 8 steps a power of two
  static constexpr unsigned kPowers = 27;  // 1 µs … 2^27 µs
  static constexpr std::size_t kBuckets = (kPowers + 1 - kSubBits) << kSubBits;  // 200

  // Bucket of a value in microseconds.
  static constexpr std::size_t index(std::uint64_t us) noexcept {
    if (us < (1U << kSubBits)) return us;
    const unsigned power = static_cast<unsigned>(std::bit_width(us)) - 1;
    const std::uint64_t sub = (us >> (power - kSubBits)) & ((1U << kSubBits) - 1);
    const std::size_t at = ((power - kSubBits + 1) << kSubBits) + sub;
    return at < kBuckets ? at : kBuckets - 1;
  }
  static constexpr std::size_t index(Duration d) noexcept {
    const auto us = std::chrono::duration_cast<std::chrono::microseconds>(d).count();
    return index(us < 0 ? 0U : static_cast<std::uint64_t>(us));
  }
  // Smallest value of a bucket, in microseconds; upper(i) == lower(i + 1).
  static constexpr std::uint64_t lower(std::size_t at) noexcept {
    if (at < (1U << kSubBits)) return at;
    const std::size_t power = (at >> kSubBits) + kSubBits - 1;
    const std::uint64_t sub = at & ((1U << kSubBits) - 1);
    return (1ULL << power) + (sub << (power - kSubBits));
  }
};

class Histogram {
 public:
  using Counts = std::array<std::uint32_t, HistogramShape::kBuckets>;

  void add(Duration d, std::uint32_t times = 1) noexcept {
    counts_[HistogramShape::index(d)] += times;
  }
  void merge(const Histogram& other) noexcept;
  // This minus an earlier reading of the same growing counts (wraps are handled by unsigned
  // arithmetic).
  [[nodiscard]] Histogram since(const Histogram& earlier) const noexcept;
  [[nodiscard]] std::uint64_t count() const noexcept;
  // Quantile q in [0, 1], interpolated inside its bucket; nothing when empty.
  [[nodiscard]] std::optional<Duration> quantile(double q) const noexcept;
  [[nodiscard]] const Counts& counts() const noexcept { return counts_; }
  [[nodiscard]] Counts& counts() noexcept { return counts_; }

 private:
  Counts counts_{};
};

class CellHistogram {
 public:
  void add(Duration d) noexcept { counts_[HistogramShape::index(d)].add(1); }
  [[nodiscard]] Histogram read() const noexcept;

 private:
  std::array<Cell<std::uint32_t>, HistogramShape::kBuckets> counts_{};
};

}  // namespace steelyard::base
