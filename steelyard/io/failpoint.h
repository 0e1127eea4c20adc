// Failpoint: a place where a test may have this process killed, as by kill -9.
//
// STEELYARD_FAILPOINT names the one place ("upgrade.lease"). Only in builds that are not Release;
// there it is nothing. Threads: any.
#pragma once

#include <string_view>

namespace steelyard::io {

void failpoint(std::string_view when, std::string_view where) noexcept;  // "when.where"
[[nodiscard]] bool has_failpoints() noexcept;

}  // namespace steelyard::io
