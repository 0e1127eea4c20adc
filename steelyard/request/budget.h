// Budget: how many retries and hedges one worker may send to one upstream, so that an outage does
// not multiply its load.
//
// Over a window of 10 s: at most max(ratio × requests, floor × 10 s ÷ workers) of them. With a
// ratio of 20 % nodes that all fail see at most 1.2 × what clients send; the floor keeps a trickle
// of requests from having none. Each worker counts its own requests, so their parts add up to the
// whole.
//
// Source: Finagle's RetryBudget (window, ratio, minimum), with the minimum as a floor instead of an
// addition. Cost: O(1), a division a call. Owned by one worker.
#pragma once

#include <array>
#include <cstdint>

#include "steelyard/base/time.h"
#include "steelyard/request/upstream_options.h"

namespace steelyard::request {

class Budget {
 public:
  static constexpr std::size_t kSeconds = 10;

  explicit Budget(std::uint32_t workers = 1) noexcept : workers_(workers == 0 ? 1 : workers) {}

  void request(base::TimePoint now) noexcept;  // one more came
  // May one more try be made? `take` it when it is.
  [[nodiscard]] bool allows(const BudgetOptions& options, base::TimePoint now) noexcept;
  void take(base::TimePoint now) noexcept;

 private:
  struct Second {
    std::uint64_t requests = 0;
    std::uint64_t tries = 0;
  };
  Second& roll(base::TimePoint now) noexcept;

  std::array<Second, kSeconds> seconds_{};
  Second sum_;
  std::int64_t last_ = 0;  // second of the clock that was counted in last
  std::uint32_t workers_;
};

}  // namespace steelyard::request
