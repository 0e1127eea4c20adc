// Surplus: how many of a pool's free objects nobody needed lately, and so may be given up.
//
// A pool that keeps what was freed follows the largest crowd there ever was. Here it follows the
// largest of the last minute: what lay free at every moment of the last kParts parts, and of the
// one that is running, is more than was needed. A part is kLooks looks, one a second, so a crowd is
// remembered for 45 to 60 s; before the first minute is over nothing is surplus. While the load is
// what it was in that time, a pool without its surplus never runs out.
//
// The pool tells how many are free after each that it takes; giving back needs no call. Cost of
// that: a comparison. One thread.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

namespace steelyard::base {

class Surplus {
 public:
  static constexpr unsigned kLooks = 15;
  static constexpr unsigned kParts = 3;

  // One was taken, or had to be made; so many are free now.
  void taken(std::size_t free) noexcept {
    if (free < least_) least_ = free;
  }
  // Once a second, with how many are free.
  void look(std::size_t free) noexcept {
    taken(free);
    if (++looks_ < kLooks) return;
    looks_ = 0;
    parts_[part_] = least_;
    part_ = (part_ + 1) % kParts;
    least_ = free;
  }
  [[nodiscard]] std::size_t count() const noexcept {
    return std::min(least_, *std::min_element(parts_.begin(), parts_.end()));
  }
  // So many of `count` were given up.
  void gone(std::size_t many) noexcept {
    least_ -= many;
    for (auto& part : parts_) part -= many;
  }

 private:
  std::size_t least_ = 0;                    // free in the part that is running
  std::array<std::size_t, kParts> parts_{};  // … in those before
  unsigned part_ = 0;
  unsigned looks_ = 0;
};

}  // namespace steelyard::base
