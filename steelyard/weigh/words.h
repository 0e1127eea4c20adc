// Numbers as people read them in reasons: "0.42", "21 %", "2.5 s". Not for machines: three or four
// digits.
#pragma once

#include <string>

#include "steelyard/base/time.h"

namespace steelyard::weigh {

[[nodiscard]] std::string decimal(double value);
[[nodiscard]] std::string percent(double ratio);
[[nodiscard]] std::string lasting(base::Duration duration);  // "340 ms", "2.5 s", "3 min"

}  // namespace steelyard::weigh
