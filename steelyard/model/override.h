// Override: a weight set by a person or an alert, in base units, with a reason and an expiry. It
// wins until it ends.
#pragma once

#include <string>

#include "steelyard/base/time.h"

namespace steelyard::model {

struct Override {
  double weight = 1;   // base units; 0 = drain
  std::string reason;  // "api" when none was given
  std::string by;      // who: key id, "cli", …
  base::TimePoint since{};
  base::TimePoint until{};  // expiry; always set
  friend bool operator==(const Override&, const Override&) = default;
};

}  // namespace steelyard::model
