// Mean of the last `window` samples. Empty until the first; over fewer than `window` it is the mean
// of those there are.
//
// The window is a ring, summed anew at each reading: no drift, no truncation (an average of
// integers kept by increments ratchets down). Cost: O(window), window ≤ kMax. One owner.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>

namespace steelyard::sense {

class RollingMean {
 public:
  static constexpr std::size_t kMax = 60;

  explicit constexpr RollingMean(std::size_t window = 5) noexcept
      : window_(std::clamp<std::size_t>(window, 1, kMax)) {}

  constexpr void add(double x) noexcept {
    ring_[next_] = x;
    next_ = (next_ + 1) % window_;
    count_ = std::min(count_ + 1, window_);
  }
  [[nodiscard]] constexpr std::optional<double> value() const noexcept {
    if (count_ == 0) return std::nullopt;
    double sum = 0;
    for (std::size_t i = 0; i < count_; ++i) sum += ring_[i];
    return sum / static_cast<double>(count_);
  }
  [[nodiscard]] constexpr std::size_t size() const noexcept { return count_; }
  constexpr void reset() noexcept { count_ = next_ = 0; }

 private:
  std::array<double, kMax> ring_{};
  std::size_t window_;
  std::size_t count_ = 0;
  std::size_t next_ = 0;
};

}  // namespace steelyard::sense
