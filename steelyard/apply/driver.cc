#include "steelyard/apply/driver.h"

namespace steelyard::apply {

std::string_view to_text(State state) noexcept {
  switch (state) {
    case State::kStarting:
      return "starting";
    case State::kIdle:
      return "idle";
    case State::kApplied:
      return "applied";
    case State::kPending:
      return "pending";
    case State::kApplying:
      return "applying";
    case State::kWaiting:
      return "waiting";
    case State::kRefused:
      return "refused";
    case State::kFailed:
      return "failed";
    case State::kAlarm:
      return "alarm";
    case State::kStopped:
      return "stopped";
  }
  return "?";
}

}  // namespace steelyard::apply
