#include "steelyard/base/nearest.h"

#include <algorithm>
#include <vector>

namespace steelyard::base {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] =
          std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0U : 1U)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

// A beginning of at least this many letters is near, however much is missing.
constexpr std::size_t kShortest = 4;

std::string_view nearest(std::string_view word, std::span<const std::string_view> known) {
  std::string_view best;
  std::size_t best_distance = static_cast<std::size_t>(-1);
  for (const auto candidate : known) {
    const bool shortened = word.size() >= kShortest && candidate.starts_with(word);
    const auto distance = shortened ? 1 : edit_distance(word, candidate);
    const auto limit = (std::max(word.size(), candidate.size()) + 2) / 3;
    if (distance <= limit && distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

}  // namespace steelyard::base
