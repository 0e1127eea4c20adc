#include "test/rigs/goals/goals.h"

#include <cmath>
#include <cstdio>

namespace steelyard::rigs {
namespace {

std::string number(double value) {
  char text[40];
  const double size = std::fabs(value);
  (void)std::snprintf(text, sizeof text,
                      size >= 100 || value == std::floor(value) ? "%.0f"
                      : size >= 10                              ? "%.1f"
                                                                : "%.2f",
                      value);
  return text;
}

}  // namespace

void Goal::at_most(const std::string& name, double value, double mark, const std::string& unit,
                   Needs needs) {
  parts_.push_back({name, unit, value, mark, value <= mark, true, needs});
}

void Goal::at_least(const std::string& name, double value, double mark, const std::string& unit,
                    Needs needs) {
  parts_.push_back({name, unit, value, mark, value >= mark, false, needs});
}

std::string Goal::verdict() const {
  if (!broken_.empty()) return "FAIL";
  const bool disturbed = others_ > kMostOthers;
  bool unknown = false;
  for (const auto& part : parts_) {
    if (disturbed && part.needs == Needs::kQuiet) {
      unknown = true;
    } else if (!part.met) {
      return "FAIL";
    }
  }
  return unknown ? "void" : "pass";
}

std::string Goal::line() const {
  std::string out =
      id_ + std::string(id_.size() < 3 ? "  " : " ") + verdict() + "  " + what_ + ": ";
  if (!broken_.empty()) return out + broken_;
  std::string more;
  for (const auto& part : parts_) {
    more += (more.empty() ? "" : ", ") + part.name + " " + number(part.value) + part.unit + " (" +
            (part.below ? "≤ " : "≥ ") + number(part.mark) + (part.met ? ")" : ", missed)");
  }
  for (const auto& note : notes_) more += "; " + note;
  if (others_ > kMostOthers) {
    more += "; others used " + number(others_ * 100) + " % of a processor";
  }
  return out + more;
}

nlohmann::json Goal::json() const {
  nlohmann::json out{{"goal", id_},
                     {"what", what_},
                     {"verdict", verdict()},
                     {"others", others_},
                     {"notes", notes_}};
  if (!broken_.empty()) out["broken"] = broken_;
  for (const auto& part : parts_) {
    out["parts"].push_back({{"name", part.name},
                            {"value", part.value},
                            {"unit", part.unit},
                            {part.below ? "at_most" : "at_least", part.mark},
                            {"met", part.met}});
  }
  return out;
}

}  // namespace steelyard::rigs
