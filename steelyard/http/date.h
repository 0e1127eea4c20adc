// Dates and Retry-After of HTTP. Pure: the wall clock is an argument.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string_view>

namespace steelyard::http {

// All three forms of RFC 9110 5.6.7: "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37
// GMT", "Sun Nov  6 08:49:37 1994". Strict in every byte but the name of the day, which need not
// fit the date. A year of two digits that would lie more than 50 years after `now` is of the
// century before. A leap second is the second before it.
[[nodiscard]] std::optional<std::chrono::sys_seconds> parse_date(
    std::string_view text, std::chrono::sys_seconds now) noexcept;

// The first of them, which is the one to send: kDateSize bytes.
inline constexpr std::size_t kDateSize = 29;
void write_date(std::chrono::sys_seconds time, char* out) noexcept;

// How long Retry-After asks to wait: delta-seconds, or a date (one that is over: 0 s). More than
// `most` counts as `most`; nullopt: neither of the two forms.
[[nodiscard]] std::optional<std::chrono::seconds> parse_retry_after(
    std::string_view value, std::chrono::sys_seconds now, std::chrono::seconds most) noexcept;

}  // namespace steelyard::http
