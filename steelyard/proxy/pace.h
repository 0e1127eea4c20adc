// Pace: whether the bytes of one direction come at least as fast as they must.
//
// Looked at once a step. A credit of bytes grows with what moves and shrinks by `rate` a second; it
// holds at most what some steps need: with more than one a pause after a burst is forgiven. A
// rate of 0 asks only that something moves in each step. Cost: an addition per event. One thread.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "steelyard/base/time.h"

namespace steelyard::proxy {

class Pace {
 public:
  static constexpr base::Duration kStep = std::chrono::seconds(1);
  static constexpr base::Duration kGrace = std::chrono::seconds(5);  // before too little counts

  void start(unsigned steps) noexcept {  // that the credit may last
    running_ = true;
    steps_ = steps;
    moved_ = have_ = 0;
    behind_ = base::Duration::zero();
  }
  void stop() noexcept { running_ = false; }
  [[nodiscard]] bool running() const noexcept { return running_; }
  void moved(std::size_t bytes) noexcept { moved_ += bytes; }
  // At the end of a step: for how long it has been too slow. `held`: it was not asked for more, so
  // the step does not count.
  [[nodiscard]] base::Duration behind(std::uint64_t rate, bool held) noexcept {
    const std::uint64_t need = std::max<std::uint64_t>(
        1, rate * static_cast<std::uint64_t>(kStep / std::chrono::seconds(1)));
    have_ = std::min(have_ + moved_, steps_ * need);
    moved_ = 0;
    if (held) return behind_ = base::Duration::zero();
    if (have_ >= need) {
      have_ -= need;
      return behind_ = base::Duration::zero();
    }
    have_ = 0;
    return behind_ += kStep;
  }

 private:
  std::uint64_t moved_ = 0;  // in this step
  std::uint64_t have_ = 0;   // saved from earlier ones
  base::Duration behind_{};
  unsigned steps_ = 1;
  bool running_ = false;
};

}  // namespace steelyard::proxy
