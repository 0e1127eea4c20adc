#include "steelyard/weigh/words.h"

#include <array>
#include <cmath>
#include <cstdio>

namespace steelyard::weigh {

namespace {

std::string print(const char* form, double value) {
  std::array<char, 40> text{};
  const int size = std::snprintf(text.data(), text.size(), form, value);
  return {text.data(), static_cast<std::size_t>(size)};
}

}  // namespace

std::string decimal(double value) {
  const double size = std::fabs(value);
  return print(size >= 1000 ? "%.0f" : "%.3g", value);
}

std::string percent(double ratio) {
  const double value = ratio * 100;
  return print(std::fabs(value) < 10 ? "%.2g" : "%.0f", value) + " %";
}

std::string lasting(base::Duration duration) {
  const double s = base::seconds(duration);
  if (s < 1) return print("%.3g", s * 1e3) + " ms";
  if (s < 120) return print("%.3g", s) + " s";
  return print("%.3g", s / 60) + " min";
}

}  // namespace steelyard::weigh
