#include "steelyard/health/words.h"

#include <array>
#include <cstdio>

namespace steelyard::health {

std::string in_words(base::Duration d) {
  const double s = base::seconds(d);
  std::array<char, 48> text{};
  // Whole seconds up to days need all their digits; %g would turn 1000000 into 1e+06.
  if (s >= 100) {
    std::snprintf(text.data(), text.size(), "%.0f s", s);
  } else if (s >= 1) {
    std::snprintf(text.data(), text.size(), "%.3g s", s);
  } else {
    std::snprintf(text.data(), text.size(), "%.3g ms", s * 1000);
  }
  return text.data();
}

std::string counted(std::uint64_t n, std::string_view noun) {
  return std::to_string(n) + ' ' + std::string(noun) + (n == 1 ? "" : "s");
}

std::string ordinal(std::uint64_t n) {
  constexpr std::array<std::string_view, 11> kWords{"",       "first", "second", "third",
                                                    "fourth", "fifth", "sixth",  "seventh",
                                                    "eighth", "ninth", "tenth"};
  if (n >= 1 && n < kWords.size()) return std::string(kWords[n]);
  const std::uint64_t tens = n % 100;
  const std::uint64_t ones = n % 10;
  const bool teen = tens >= 11 && tens <= 13;
  std::string_view ending = "th";
  if (!teen && ones == 1) ending = "st";
  if (!teen && ones == 2) ending = "nd";
  if (!teen && ones == 3) ending = "rd";
  return std::to_string(n) + std::string(ending);
}

}  // namespace steelyard::health
