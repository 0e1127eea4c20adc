// IdleLife: how long an idle connection to one node may be kept, so that it is retired before the
// node closes it.
//
// Three sources, the shortest wins:
//   configured   pool.idle_timeout
//   told         the node's `Keep-Alive: timeout=N`, minus 1 s (half of it below 2 s)
//   observed     two connections in a row that the node closed after about the same idle time
//   (within
//                a tenth or 20 ms), minus a tenth. The second must have become idle after the first
//                was closed: a node that restarts closes all of its connections at once, and
//                teaches nothing.
// What was observed is forgotten after ten minutes, since below the node's limit nothing can show
// that it was raised. Cost: a few comparisons. Owned by one worker; one a node.
#pragma once

#include <algorithm>
#include <chrono>

#include "steelyard/base/time.h"

namespace steelyard::proxy {

class IdleLife {
 public:
  static constexpr base::Duration kForget = std::chrono::minutes(10);

  void told(base::Duration timeout) noexcept {
    constexpr base::Duration kMargin = std::chrono::seconds(1);
    told_ = timeout - std::min(kMargin, timeout / 2);
  }
  // The node closed a connection that had been idle since then.
  void closed(base::TimePoint since, base::TimePoint now) noexcept {
    constexpr base::Duration kClose = std::chrono::milliseconds(20);
    if (since < last_closed_) return;
    const auto age = now - since;
    const auto apart = age > last_age_ ? age - last_age_ : last_age_ - age;
    if (last_closed_ != base::TimePoint::min() && apart <= std::max(kClose, age / 10)) {
      observed_ = std::min(age, last_age_) * 9 / 10;
      observed_at_ = now;
    }
    last_age_ = age;
    last_closed_ = now;
  }
  [[nodiscard]] base::Duration limit(base::Duration configured, base::TimePoint now) noexcept {
    if (observed_ != kUnknown && now - observed_at_ >= kForget) observed_ = kUnknown;
    return std::min({configured, told_, observed_});
  }

 private:
  static constexpr base::Duration kUnknown = base::Duration::max();
  base::Duration told_ = kUnknown;
  base::Duration observed_ = kUnknown;
  base::TimePoint observed_at_{};
  base::TimePoint last_closed_ = base::TimePoint::min();
  base::Duration last_age_{};
};

}  // namespace steelyard::proxy
