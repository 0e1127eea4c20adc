#include "steelyard/weigh/words.h"

#include <array>
#include <charconv>
#include <cmath>

namespace steelyard::weigh {

namespace {

// Three significant digits or none after the point, whatever the locale.
std::string print(double value, std::chars_format form, int precision) {
  std::array<char, 400> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value, form, precision);
  return {text.data(), end.ptr};
}
std::string significant(double value, int digits) {
  return print(value, std::chars_format::general, digits);
}
std::string whole(double value) { return print(value, std::chars_format::fixed, 0); }

}  // namespace

std::string decimal(double value) {
  return std::fabs(value) >= 1000 ? whole(value) : significant(value, 3);
}

std::string percent(double ratio) {
  const double value = ratio * 100;
  return (std::fabs(value) < 10 ? significant(value, 2) : whole(value)) + " %";
}

std::string lasting(base::Duration duration) {
  const double s = base::seconds(duration);
  if (s < 1) return significant(s * 1e3, 3) + " ms";
  if (s < 120) return significant(s, 3) + " s";
  return significant(s / 60, 3) + " min";
}

}  // namespace steelyard::weigh
