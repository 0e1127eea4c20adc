// What this binary calls itself; set by the build.
#pragma once

#include <string_view>

namespace steelyard::cli {

extern const std::string_view kVersion;
extern const std::string_view kRevision;

}  // namespace steelyard::cli
