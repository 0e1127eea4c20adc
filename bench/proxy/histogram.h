// Latencies with less than 1 % error: 128 steps in each power of two of nanoseconds.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

namespace bench {

class Histogram {
 public:
  void add(std::uint64_t ns) {
    ++counts_[std::min(place(ns), counts_.size() - 1)];
    ++all_;
  }
  void clear() {
    counts_.fill(0);
    all_ = 0;
  }
  // In microseconds; 0 when nothing was added.
  [[nodiscard]] double quantile(double share) const {
    std::uint64_t before = 0;
    for (std::size_t i = 0; i < counts_.size(); ++i) {
      before += counts_[i];
      if (before > 0 && static_cast<double>(before) >= share * static_cast<double>(all_)) {
        return static_cast<double>(value(i)) / 1e3;
      }
    }
    return 0;
  }

 private:
  static constexpr unsigned kBits = 7;
  static constexpr std::uint64_t kSteps = 1u << kBits;

  static std::size_t place(std::uint64_t ns) {
    if (ns < kSteps) return ns;
    const auto shift = static_cast<unsigned>(std::bit_width(ns)) - kBits - 1;
    return (shift + 1) * kSteps + ((ns >> shift) - kSteps);
  }
  static std::uint64_t value(std::size_t at) {
    if (at < kSteps) return at;
    const auto shift = at / kSteps - 1;
    return (at % kSteps + kSteps) << shift;
  }

  std::array<std::uint64_t, kSteps * 30> counts_{};  // to 68 s
  std::uint64_t all_ = 0;
};

}  // namespace bench
