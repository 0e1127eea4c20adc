#include "steelyard/weigh/options.h"

#include <algorithm>

#include "steelyard/weigh/factors.h"
#include "steelyard/weigh/words.h"

namespace steelyard::weigh {

Limits Limits::of(const Options& options, bool reloads) {
  Limits limits;
  limits.threshold = options.threshold.value_or(reloads ? 0.2 : 0.02);
  limits.cooldown =
      options.cooldown.value_or(reloads ? std::chrono::seconds(30) : base::Duration::zero());
  limits.up = options.step.up;
  limits.down = options.step.down;
  limits.floor = options.floor;
  limits.cap = options.cap;
  limits.trust = options.trust;
  limits.window = options.smooth.window;
  limits.alpha = options.smooth.alpha;
  return limits;
}

double Limits::floor_of(double base) const noexcept {
  return floor ? std::min(*floor, base) : kFloor * base;
}

std::vector<std::string> warnings(const Options& options, std::span<const double> bases) {
  std::vector<std::string> found;
  const auto least = std::min_element(bases.begin(), bases.end(), [](double a, double b) {
    return (a > 0 ? a : 1e300) < (b > 0 ? b : 1e300);
  });
  if (least == bases.end() || *least <= 0) return found;
  if (options.floor && options.controller.name != "static" && *options.floor >= *least) {
    found.push_back(
        "weigh.floor is " + decimal(*options.floor) + ", not below the weight " + decimal(*least) +
        " of a node: its weight can never be lowered; leave floor out for a tenth of each weight");
  }
  if (options.controller.name == "factors" && options.controller.as<FactorsOptions>().round &&
      *least < 5) {
    found.push_back(
        "weigh.controller factors rounds to whole weights, which leaves little of it at a weight "
        "of " +
        decimal(*least) + ": give weights of about 10, or round: false");
  }
  return found;
}

}  // namespace steelyard::weigh
