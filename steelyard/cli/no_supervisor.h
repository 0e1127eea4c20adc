// Why a process cannot be upgraded, and what to do: for its log and for `-s upgrade`.
#pragma once

#include <string_view>

namespace steelyard::cli {

inline constexpr std::string_view kUpgradeSingle =
    "it runs without a supervisor (run --single), which an upgrade needs; stop it, and start "
    "`steelyard run` without --single";
inline constexpr std::string_view kUpgradeLost =
    "its supervisor is gone, which an upgrade needs; start `steelyard run` with the same "
    "configuration: it takes over without a gap, with the program that is started then";

}  // namespace steelyard::cli
