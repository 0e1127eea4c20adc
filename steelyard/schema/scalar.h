// Text ↔ single values: numbers, shares, durations, sizes, as people write them in the
// configuration.
//
//   number    -?digits[.digits][e[±]digits]; no leading zero, no +, no hex, no underscores: `010`
//   is an error, never 8 or 10 ratio     a number from 0 to 1, or a number with `%` duration
//   digits[.digits] and a unit of ns us ms s m h d, several from large to small: `90s`, `1h30m`;
//   exact to 1 ns size      a number, alone or with B, KiB MiB GiB TiB (powers of 1024), kB MB GB
//   TB (powers of 1000); whole bytes
// Errors go on from the key's name ("is 30, has no unit: write 30s …"). Nothing is rounded or
// clamped. Pure; no locale.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "steelyard/base/bytes.h"
#include "steelyard/base/result.h"
#include "steelyard/base/time.h"

namespace steelyard::schema {

[[nodiscard]] base::Result<bool> parse_bool(std::string_view text);
[[nodiscard]] base::Result<std::int64_t> parse_integer(std::string_view text);
[[nodiscard]] base::Result<double> parse_number(std::string_view text);
[[nodiscard]] base::Result<double> parse_ratio(std::string_view text);
[[nodiscard]] base::Result<base::Duration> parse_duration(std::string_view text);
[[nodiscard]] base::Result<base::Bytes> parse_bytes(std::string_view text);

// The shortest text that parses to the same value.
[[nodiscard]] std::string number_text(double value);
[[nodiscard]] std::string ratio_text(double value);  // "20%"
[[nodiscard]] std::string duration_text(base::Duration value);
[[nodiscard]] std::string bytes_text(base::Bytes value);

// [A-Za-z0-9][A-Za-z0-9._-]{0,62}
[[nodiscard]] bool is_identifier(std::string_view text) noexcept;

}  // namespace steelyard::schema
