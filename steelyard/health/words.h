// Numbers as words for reasons: "30 s", "1.5 s", "300 ms", "3 checks", "second".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "steelyard/base/time.h"

namespace steelyard::health {

[[nodiscard]] std::string in_words(base::Duration d);
// "1 check", "3 checks".
[[nodiscard]] std::string counted(std::uint64_t n, std::string_view noun);
// "first", "second", … "tenth", "11th", "22nd".
[[nodiscard]] std::string ordinal(std::uint64_t n);

}  // namespace steelyard::health
