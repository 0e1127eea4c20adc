#include "steelyard/schema/problems.h"

#include <algorithm>

#include "steelyard/base/nearest.h"

namespace steelyard::schema {

void Problems::add(Problem problem) {
  const auto after =
      std::upper_bound(list_.begin(), list_.end(), problem.place,
                       [](Place place, const Problem& other) { return place < other.place; });
  list_.insert(after, std::move(problem));
}

void Problems::error(Place place, std::string_view path, std::string text) {
  ++errors_;
  add({place, std::string(path), std::move(text), false});
}

void Problems::warn(Place place, std::string_view path, std::string text) {
  add({place, std::string(path), std::move(text), true});
}

std::string Problems::render(std::string_view file) const {
  std::string out;
  for (const auto& problem : list_) {
    out.append(file).append(":").append(std::to_string(problem.place.line)).append(":");
    out.append(std::to_string(problem.place.column)).append(": ");
    if (problem.warning) out += "warning: ";
    if (!problem.path.empty()) out.append(problem.path).append(": ");
    out.append(problem.text).append("\n");
  }
  return out;
}

std::string suggestion(std::string_view word, std::span<const std::string_view> known) {
  if (const auto near = base::nearest(word, known); !near.empty()) {
    return std::string(", did you mean \"").append(near).append("\"?");
  }
  if (known.empty()) return {};
  std::string out = known.size() == 1 ? ", known is " : ", known are ";
  for (std::size_t i = 0; i < known.size(); ++i) {
    if (i != 0) out += ", ";
    out += known[i];
  }
  return out;
}

}  // namespace steelyard::schema
