// Collections a minute from a counter that counts since the node's start.
//
// The rate is that of the last minute, in parts of 5 s; of a shorter history, what there was scaled
// to a minute but never from less than 10 s (one collection seen over one second is not sixty a
// minute). A smaller count than before is a restarted process: all it counts happened since.
// Unknown until two counts at different times. Cost: O(1). One owner.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "steelyard/base/time.h"

namespace steelyard::sense {

class GcRate {
 public:
  void add(std::uint64_t count, base::TimePoint now) noexcept;
  [[nodiscard]] std::optional<double> per_minute() const noexcept { return per_minute_; }
  void reset() noexcept { *this = GcRate{}; }

 private:
  struct Mark {
    base::TimePoint at{};
    std::uint64_t total = 0;
  };
  static constexpr std::size_t kMarks = 16;  // at least a minute of marks 5 s apart

  std::array<Mark, kMarks> marks_{};  // oldest at first_
  std::size_t first_ = 0;
  std::size_t size_ = 0;
  std::uint64_t last_count_ = 0;
  std::uint64_t total_ = 0;  // restarts added up
  std::optional<double> per_minute_;
};

}  // namespace steelyard::sense
