// Numbers as people read them in decisions: "2.67", "22 %", "4 → 2.67".
#pragma once

#include <string>

namespace steelyard::control {

[[nodiscard]] std::string number(double value);   // three significant digits, no exponent
[[nodiscard]] std::string percent(double share);  // of 0 … 1
[[nodiscard]] std::string moved(const std::string& from, const std::string& to);

}  // namespace steelyard::control
