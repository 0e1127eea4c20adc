#include "steelyard/control/words.h"

#include <array>
#include <cmath>
#include <cstdio>

namespace steelyard::control {

std::string number(double value) {
  std::array<char, 64> text{};
  // %g would write 1e+06: from 1000 on people want the digits.
  std::snprintf(text.data(), text.size(), std::abs(value) >= 999.5 ? "%.0f" : "%.3g", value);
  return text.data();
}

std::string percent(double share) {
  std::array<char, 64> text{};
  const double p = share * 100;
  std::snprintf(text.data(), text.size(), p >= 9.95 || p == 0 ? "%.0f %%" : "%.2g %%", p);
  return text.data();
}

std::string moved(const std::string& from, const std::string& to) {
  return from == to ? from : from + " → " + to;
}

}  // namespace steelyard::control
