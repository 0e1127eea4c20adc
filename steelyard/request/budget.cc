#include "steelyard/request/budget.h"

#include <algorithm>

namespace steelyard::request {

Budget::Second& Budget::roll(base::TimePoint now) noexcept {
  const auto second =
      std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch()).count();
  const auto place = [](std::int64_t at) { return static_cast<std::size_t>(at) % kSeconds; };
  if (second > last_) {
    const auto passed = std::min<std::int64_t>(second - last_, kSeconds);
    for (std::int64_t i = 0; i < passed; ++i) {
      Second& old = seconds_[place(second - i)];
      sum_.requests -= old.requests;
      sum_.tries -= old.tries;
      old = {};
    }
    last_ = second;
  }
  return seconds_[place(last_)];
}

void Budget::request(base::TimePoint now) noexcept {
  ++roll(now).requests;
  ++sum_.requests;
}

bool Budget::allows(const BudgetOptions& options, base::TimePoint now) noexcept {
  roll(now);
  const double share = options.ratio * static_cast<double>(sum_.requests);
  const double floor = options.floor * static_cast<double>(kSeconds) / workers_;
  return static_cast<double>(sum_.tries + 1) <= std::max(share, floor);
}

void Budget::take(base::TimePoint now) noexcept {
  ++roll(now).tries;
  ++sum_.tries;
}

}  // namespace steelyard::request
