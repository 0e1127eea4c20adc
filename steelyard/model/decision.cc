#include "steelyard/model/decision.h"

namespace steelyard::model {

std::string_view to_text(Change change) noexcept {
  switch (change) {
    case Change::kNone:
      return "none";
    case Change::kWeight:
      return "weight";
    case Change::kSuppressed:
      return "suppressed";
    case Change::kOut:
      return "out";
    case Change::kTrial:
      return "trial";
    case Change::kRamp:
      return "ramp";
    case Change::kUsable:
      return "usable";
    case Change::kDrain:
      return "drain";
    case Change::kOverride:
      return "override";
    case Change::kPanic:
      return "panic";
  }
  return "unknown";
}

}  // namespace steelyard::model
