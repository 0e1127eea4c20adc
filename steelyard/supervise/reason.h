// Reasons that come from other processes, made fit for an event and for the API: what an engine
// that could not start says, what a program at the path of an upgrade prints. Pure.
#pragma once

#include <string>
#include <string_view>

namespace steelyard::supervise {

inline constexpr std::size_t kMostReason = 1000;  // bytes, "..." included

// One line without control bytes (\xHH stands for each) and ends of lines at its end, cut between
// two characters after kMostReason bytes.
[[nodiscard]] std::string shortened(std::string_view reason);

// "what: why", or `what` alone when why is empty.
[[nodiscard]] std::string with_reason(std::string what, std::string_view why);

}  // namespace steelyard::supervise
