#include "steelyard/supervise/reason.h"

namespace steelyard::supervise {
namespace {

bool continues(char c) noexcept { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

}  // namespace

std::string shortened(std::string_view reason) {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  static constexpr std::string_view kMore = "...";
  std::string out;
  while (reason.ends_with('\n')) reason.remove_suffix(1);
  for (const char c : reason) {
    const auto u = static_cast<unsigned char>(c);
    if (u < 0x20 || u == 0x7f) {
      out.append("\\x").append(1, kDigits[u >> 4]).append(1, kDigits[u & 15]);
    } else {
      out += c;
    }
    if (out.size() <= kMostReason) continue;
    std::size_t end = kMostReason - kMore.size();
    while (end > 0 && continues(out[end])) --end;
    return out.erase(end).append(kMore);
  }
  return out;
}

std::string with_reason(std::string what, std::string_view why) {
  if (!why.empty()) what.append(": ").append(why);
  return what;
}

}  // namespace steelyard::supervise
