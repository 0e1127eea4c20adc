#include "steelyard/schema/scalar.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

namespace steelyard::schema {
namespace {

__extension__ using Wide = __int128;

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
constexpr std::size_t kMaxDigits = 18;  // what an int64 surely holds

base::Error bad(std::string_view text, std::string_view what) {
  return base::Error{
      .code = base::Code::kInvalid,
      .origin = base::Origin::kOperator,
      .retry_safe = false,
      .text = std::string("is ").append(text.empty() ? "\"\"" : text).append(", ").append(what)};
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::size_t digits(std::string_view text, std::size_t from) {
  std::size_t at = from;
  while (at < text.size() && is_digit(text[at])) ++at;
  return at - from;
}

// mantissa × 10^exponent, and how much of the text it took; or what is wrong with it.
struct Decimal {
  std::int64_t mantissa = 0;
  std::int64_t exponent = 0;
  std::size_t length = 0;
  std::string wrong;
};

std::string without_zeros(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  while (text.size() > 1 && text[0] == '0' && is_digit(text[1])) text.remove_prefix(1);
  return (negative ? "-" : "") + std::string(text);
}

// The number at the front of `all`. `exponents`: e-notation is taken too.
Decimal scan(std::string_view all, bool exponents) {
  Decimal out;
  std::size_t at = all.starts_with('-') ? 1 : 0;
  const std::size_t whole = digits(all, at);
  if (whole == 0) return {.wrong = "must be a number"};
  if (whole > 1 && all[at] == '0')
    return {.wrong = "has a leading zero: write " + without_zeros(all)};
  std::string text(all.substr(0, at + whole));
  at += whole;
  if (at < all.size() && all[at] == '.') {
    const std::size_t fraction = digits(all, at + 1);
    if (fraction == 0) return {.wrong = "has no digit after the point"};
    std::size_t kept = fraction;
    while (kept > 0 && all[at + kept] == '0') --kept;
    text += all.substr(at + 1, kept);
    out.exponent = -static_cast<std::int64_t>(kept);
    at += 1 + fraction;
  }
  if (text.size() > kMaxDigits) return {.wrong = "has more digits than make sense"};
  std::from_chars(text.data(), text.data() + text.size(), out.mantissa);
  if (exponents && at < all.size() && (all[at] == 'e' || all[at] == 'E')) {
    std::size_t sign = at + 1;
    if (sign < all.size() && (all[sign] == '+' || all[sign] == '-')) ++sign;
    const std::size_t power = digits(all, sign);
    if (power > 0 && power <= 3) {
      int value = 0;
      std::from_chars(all.data() + sign, all.data() + sign + power, value);
      out.exponent += all[at + 1] == '-' ? -value : value;
      at = sign + power;
    }
  }
  out.length = at;
  return out;
}

// mantissa × 10^exponent × unit as an exact whole number; nothing when it is none or too large.
enum class Exact : std::uint8_t { kOk, kFraction, kLarge };
Exact exact(const Decimal& number, std::int64_t unit, std::int64_t& out) {
  Wide value = static_cast<Wide>(number.mantissa) * unit;
  for (auto e = number.exponent; e > 0 && value != 0; --e) {
    value *= 10;
    if (value > kMax || value < -kMax) return Exact::kLarge;
  }
  for (auto e = number.exponent; e < 0 && value != 0; ++e) {
    if (value % 10 != 0) return Exact::kFraction;
    value /= 10;
  }
  if (value > kMax || value < -kMax) return Exact::kLarge;
  out = static_cast<std::int64_t>(value);
  return Exact::kOk;
}

struct Unit {
  std::string_view name;
  std::int64_t size;
};
constexpr std::array kTimes{Unit{"d", 86'400'000'000'000},
                            Unit{"h", 3'600'000'000'000},
                            Unit{"m", 60'000'000'000},
                            Unit{"s", 1'000'000'000},
                            Unit{"ms", 1'000'000},
                            Unit{"us", 1'000},
                            Unit{"ns", 1}};
constexpr std::array kSizes{Unit{"B", 1},           Unit{"kB", 1'000},
                            Unit{"KiB", 1LL << 10}, Unit{"MB", 1'000'000},
                            Unit{"MiB", 1LL << 20}, Unit{"GB", 1'000'000'000},
                            Unit{"GiB", 1LL << 30}, Unit{"TB", 1'000'000'000'000},
                            Unit{"TiB", 1LL << 40}};

// What people write instead, and what to write.
struct Alias {
  std::string_view written, right;
};
constexpr std::array kTimeAliases{
    Alias{"sec", "s"},     Alias{"secs", "s"},     Alias{"second", "s"},   Alias{"seconds", "s"},
    Alias{"S", "s"},       Alias{"min", "m"},      Alias{"mins", "m"},     Alias{"minute", "m"},
    Alias{"minutes", "m"}, Alias{"M", "m"},        Alias{"hr", "h"},       Alias{"hour", "h"},
    Alias{"hours", "h"},   Alias{"H", "h"},        Alias{"day", "d"},      Alias{"days", "d"},
    Alias{"D", "d"},       Alias{"msec", "ms"},    Alias{"millis", "ms"},  Alias{"MS", "ms"},
    Alias{"usec", "us"},   Alias{"\u00b5s", "us"}, Alias{"\u03bcs", "us"}, Alias{"nsec", "ns"}};

template <std::size_t N>
const Unit* find_unit(const std::array<Unit, N>& units, std::string_view name) {
  const auto* at =
      std::find_if(units.begin(), units.end(), [&](const Unit& unit) { return unit.name == name; });
  return at == units.end() ? nullptr : at;
}

base::Error bad_time_unit(std::string_view text, std::string_view unit) {
  for (const auto& alias : kTimeAliases) {
    if (alias.written == unit) {
      return bad(text, "has the unknown unit \"" + std::string(unit) + "\", did you mean \"" +
                           std::string(alias.right) + "\"?");
    }
  }
  return bad(
      text, "has the unknown unit \"" + std::string(unit) + "\": units are ns, us, ms, s, m, h, d");
}

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return out;
}

base::Error bad_size_unit(std::string_view text, std::string_view unit) {
  const std::string said = "has the unknown unit \"" + std::string(unit) + "\"";
  for (const auto& known : kSizes) {
    if (lower(known.name) == lower(unit)) {
      return bad(text, said + ", did you mean \"" + std::string(known.name) + "\"?");
    }
  }
  if (unit.size() == 1 && std::string_view("kmgt").find(lower(unit)) != std::string_view::npos) {
    const char letter = static_cast<char>(lower(unit)[0] - 'a' + 'A');
    const std::string decimal = letter == 'K' ? "kB" : std::string(1, letter) + "B";
    return bad(text, said + ": write " + letter + "iB (powers of 1024) or " + decimal +
                         " (powers of 1000)");
  }
  return bad(text, said + ": units are B, kB, KiB, MB, MiB, GB, GiB, TB, TiB");
}

}  // namespace

base::Result<bool> parse_bool(std::string_view text) {
  for (const std::string_view word : {"true", "True", "TRUE", "on", "yes"}) {
    if (text == word) return true;
  }
  for (const std::string_view word : {"false", "False", "FALSE", "off", "no"}) {
    if (text == word) return false;
  }
  return bad("\"" + std::string(text) + "\"", "must be true or false (also on, off, yes, no)");
}

base::Result<std::int64_t> parse_integer(std::string_view text) {
  const auto number = scan(text, true);
  if (!number.wrong.empty()) return bad(text, number.wrong);
  if (number.length != text.size()) return bad(text, "must be a plain whole number");
  std::int64_t out = 0;
  switch (exact(number, 1, out)) {
    case Exact::kFraction:
      return bad(text, "must be a whole number");
    case Exact::kLarge:
      return bad(text, "is too large");
    case Exact::kOk:
      break;
  }
  return out;
}

base::Result<double> parse_number(std::string_view text) {
  const auto number = scan(text, true);
  if (!number.wrong.empty()) return bad(text, number.wrong);
  if (number.length != text.size()) return bad(text, "must be a plain number");
  double out = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (failed != std::errc{} || end != text.data() + text.size() || !std::isfinite(out)) {
    return bad(text, "is beyond what a number can hold");
  }
  return out;
}

base::Result<double> parse_ratio(std::string_view text) {
  if (!text.ends_with('%')) return parse_number(text);
  auto number = scan(text, false);
  if (!number.wrong.empty()) return bad(text, number.wrong);
  if (number.length + 1 != text.size())
    return bad(text, "must be a number or a percentage, as 0.2 or 20%");
  // Read as one decimal number, so that 7% is exactly what 0.07 is.
  const std::string shifted =
      std::to_string(number.mantissa) + "e" + std::to_string(number.exponent - 2);
  return parse_number(shifted);
}

base::Result<base::Duration> parse_duration(std::string_view text) {
  if (text == "0") return base::Duration{};
  if (text.starts_with('-')) return bad(text, "is negative");
  std::int64_t total = 0;
  std::int64_t last = kMax;
  std::string_view rest = text;
  while (!rest.empty()) {
    if (!is_digit(rest[0])) return bad(text, "must be a duration, as 30s or 1h30m");
    const auto number = scan(rest, false);
    if (!number.wrong.empty()) return bad(text, number.wrong);
    rest.remove_prefix(number.length);
    const auto name = rest.substr(0, std::min(rest.find_first_of("0123456789"), rest.size()));
    if (name.empty()) {
      return bad(text, "has no unit: write " + std::string(text) +
                           "s for seconds (units are ns, us, ms, s, m, h, d)");
    }
    const Unit* unit = find_unit(kTimes, name);
    if (unit == nullptr) return bad_time_unit(text, name);
    if (unit->size >= last)
      return bad(text, "must have its units from large to small, each once, as 1h30m");
    last = unit->size;
    rest.remove_prefix(name.size());
    std::int64_t part = 0;
    const auto how = exact(number, unit->size, part);
    if (how == Exact::kFraction) return bad(text, "is finer than 1ns");
    if (how == Exact::kLarge || part > kMax - total)
      return bad(text, "is too long (292 years are the most)");
    total += part;
  }
  if (text.empty()) return bad(text, "must be a duration, as 30s or 1h30m");
  return base::Duration(total);
}

base::Result<base::Bytes> parse_bytes(std::string_view text) {
  if (text.starts_with('-')) return bad(text, "is negative");
  if (text.empty() || !is_digit(text[0]))
    return bad("\"" + std::string(text) + "\"", "must be a size, as 10MiB");
  const auto number = scan(text, true);
  if (!number.wrong.empty()) return bad(text, number.wrong);
  const auto name = text.substr(number.length);
  const Unit* unit = name.empty() ? kSizes.data() : find_unit(kSizes, name);
  if (unit == nullptr) return bad_size_unit(text, name);
  std::int64_t out = 0;
  switch (exact(number, unit->size, out)) {
    case Exact::kFraction:
      return bad(text, "is not a whole number of bytes");
    case Exact::kLarge:
      return bad(text, "is too large");
    case Exact::kOk:
      break;
  }
  return base::Bytes{static_cast<std::uint64_t>(out)};
}

std::string number_text(double value) {
  std::array<char, 32> out{};
  const bool whole = std::trunc(value) == value && std::abs(value) < 1e15;
  const auto [end, failed] =
      whole ? std::to_chars(out.data(), out.data() + out.size(), value, std::chars_format::fixed)
            : std::to_chars(out.data(), out.data() + out.size(), value);
  return failed == std::errc{} ? std::string(out.data(), end) : std::string();
}

std::string ratio_text(double value) {
  std::string text = number_text(value);
  for (int places = 0; places <= 6; ++places) {  // the shortest percentage that is the same number
    std::array<char, 64> out{};
    const auto [end, failed] = std::to_chars(out.data(), out.data() + out.size(), value * 100,
                                             std::chars_format::fixed, places);
    if (failed != std::errc{}) break;
    const std::string percent = std::string(out.data(), end) + "%";
    const auto back = parse_ratio(percent);
    if (back && *back == value) return percent;
  }
  return text;
}

std::string duration_text(base::Duration value) {
  std::int64_t rest = value.count();
  if (rest == 0) return "0s";
  std::string out = rest < 0 ? "-" : "";
  for (const auto& unit : kTimes) {
    const std::int64_t part = std::abs(rest / unit.size);
    if (part == 0) continue;
    // Days only when they are whole: 48h reads as 2d, 90000s as 25h.
    if (unit.name == "d" && rest % unit.size != 0) continue;
    out += std::to_string(part).append(unit.name);
    rest %= unit.size;
  }
  return out;
}

std::string bytes_text(base::Bytes value) {
  for (const std::string_view name : {"TiB", "GiB", "MiB", "KiB"}) {
    const auto size = static_cast<std::uint64_t>(find_unit(kSizes, name)->size);
    if (value.count != 0 && value.count % size == 0)
      return std::to_string(value.count / size).append(name);
  }
  return std::to_string(value.count);
}

bool is_identifier(std::string_view text) noexcept {
  const auto alnum = [](char c) {
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  };
  if (text.empty() || text.size() > 63 || !alnum(text[0])) return false;
  return std::all_of(text.begin(), text.end(),
                     [&](char c) { return alnum(c) || c == '.' || c == '_' || c == '-'; });
}

}  // namespace steelyard::schema
