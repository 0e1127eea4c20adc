#include "steelyard/schema/problems.h"

#include <algorithm>

#include "steelyard/base/nearest.h"

namespace steelyard::schema {
namespace {

// Names come from the file as they are; a message must stay one line and must not steer a terminal.
std::string printable(std::string text) {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  const auto control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  if (std::none_of(text.begin(), text.end(), control)) return text;
  std::string out;
  for (const char c : text) {
    if (!control(c)) {
      out += c;
      continue;
    }
    out += "\\x";
    out += kDigits[static_cast<unsigned char>(c) >> 4];
    out += kDigits[static_cast<unsigned char>(c) & 15];
  }
  return out;
}

}  // namespace

void Problems::add(Problem problem) {
  const auto after =
      std::upper_bound(list_.begin(), list_.end(), problem.place,
                       [](Place place, const Problem& other) { return place < other.place; });
  list_.insert(after, std::move(problem));
}

void Problems::error(Place place, std::string_view path, std::string text) {
  if (++errors_ > kMost) return;
  error_paths_.emplace_back(path);
  add({place, printable(std::string(path)), printable(std::move(text)), false});
}

void Problems::warn(Place place, std::string_view path, std::string text) {
  if (++warnings_ > kMost) return;
  add({place, printable(std::string(path)), printable(std::move(text)), true});
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
  if (const auto all = errors_ + warnings_; all > list_.size()) {
    out.append(file).append(": and ").append(std::to_string(all - list_.size()));
    out.append(" more of the kind\n");
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
