// GiveBack: when memory that configurations took is to be given back to the system.
//
// Reading a configuration takes many times its size, and a reload frees what it replaced once the
// workers are past it: a second after each the memory is due, so also when reloads come faster than
// that. What is still in use then, by a long answer perhaps, is due once more every minute, until
// it is freed. What workers free when a crowd is gone (proxy::Core::trim) is due a few seconds
// later, when most of it is freed, at most once a minute. Control thread.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "steelyard/base/time.h"

namespace steelyard::cli {

class GiveBack {
 public:
  static constexpr base::Duration kAfter = std::chrono::seconds(1);
  static constexpr base::Duration kAgain = std::chrono::seconds(60);
  static constexpr base::Duration kCalm = std::chrono::seconds(5);
  static constexpr std::uint64_t kWorth = std::uint64_t{64} << 10;  // a guess

  // A configuration was read, whatever became of it.
  void read(base::TimePoint now) noexcept {
    last_ = now + kAfter;
    due_ = std::min(due_, last_);
  }
  // Bytes that workers have freed so far.
  void freed(std::uint64_t bytes, base::TimePoint now) noexcept {
    if (bytes < noted_ + kWorth) return;
    noted_ = bytes;
    due_ = std::min(due_, std::max(now + kCalm, given_ + kAgain));
  }
  [[nodiscard]] bool due(base::TimePoint now) const noexcept { return now >= due_; }
  // It is being given back, but for what is `in_use`.
  void given(base::TimePoint now, bool in_use) noexcept {
    given_ = now;
    due_ = last_ > now ? last_ : in_use ? now + kAgain : base::TimePoint::max();
  }

 private:
  base::TimePoint last_{};  // of the newest
  base::TimePoint given_ = base::TimePoint{} - kAgain;
  std::uint64_t noted_ = 0;  // of what workers freed
  base::TimePoint due_ = base::TimePoint::max();
};

}  // namespace steelyard::cli
