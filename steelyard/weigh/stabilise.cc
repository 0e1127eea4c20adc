#include "steelyard/weigh/stabilise.h"

#include <algorithm>
#include <cmath>

#include "steelyard/weigh/gain.h"
#include "steelyard/weigh/words.h"

namespace steelyard::weigh {

namespace {

// The step stage: where the control may go from `applied` in one step, and which limit bit.
double step_to(const Move& move, double target, bool urgent, const Limits& limits,
               std::string& why) {
  const double k = urgent ? 1 : gain(move.lag, move.alpha);
  const double full = std::log(target / move.applied);
  const double damped = k * full;
  const double step = std::clamp(damped, -std::log(limits.down), std::log(limits.up));
  if (step < damped) {
    why = "limited to ×" + decimal(limits.up);
  } else if (step > damped) {
    why = "limited to ÷" + decimal(limits.down);
  } else if (k < 1 && !same(target, move.applied)) {
    why = "damped to " + percent(k) + " of the way: the signal is " + decimal(move.lag) +
          " steps old";
  }
  // exp(log(x)) is not x: an undamped, unlimited step lands exactly.
  return step == full ? target : move.applied * std::exp(step);
}

}  // namespace

bool same(double a, double b) noexcept {
  return std::fabs(a - b) <= kSame * std::max(std::fabs(a), std::fabs(b));
}

Moved stabilise(const Move& move, const Limits& limits, std::vector<model::StageValue>& stages) {
  double value = move.wanted;
  const bool wants = !same(value, move.applied);
  const bool urgent = value <= move.applied / 2 * (1 + kSame);
  const auto stage = [&](std::string_view name, double to, std::string why) {
    value = to;
    stages.push_back({name, move.base * value, !why.empty(), std::move(why)});
  };

  const bool contradicted = move.objection && wants && value > move.applied;
  stage("trust", contradicted ? move.applied : value,
        contradicted ? "may not gain: " + *move.objection : std::string());

  const double off = std::fabs(value - move.applied) / move.applied;
  const bool small = !urgent && off < limits.threshold * (1 - kSame) && !same(value, move.applied);
  stage("threshold", small ? move.applied : value,
        small ? percent(off) + " off, below the threshold of " + percent(limits.threshold)
              : std::string());

  std::string why;
  const double next = step_to(move, value, urgent, limits, why);
  stage("step", next, std::move(why));

  const bool resting = !urgent && limits.cooldown > base::Duration::zero() && move.since_change &&
                       *move.since_change < limits.cooldown && !same(value, move.applied);
  stage("cooldown", resting ? move.applied : value,
        resting ? "changed " + lasting(*move.since_change) + " ago, cooldown " +
                      lasting(limits.cooldown)
                : std::string());

  return {value, wants && same(value, move.applied)};
}

}  // namespace steelyard::weigh
