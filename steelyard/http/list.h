// Comma lists in field values (RFC 9110 5.6.1), read leniently: empty elements are skipped, white
// space around them too. Quoted strings are not understood: none of the lists read here has them.
#pragma once

#include <cstddef>
#include <string_view>

namespace steelyard::http {

[[nodiscard]] constexpr std::string_view trim_blanks(std::string_view text) noexcept {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

// Calls `each(element)` in order; stops and gives false when it does.
template <typename F>
bool for_each_item(std::string_view list, F each) noexcept {
  while (!list.empty()) {
    const std::size_t comma = list.find(',');
    const std::string_view item = trim_blanks(list.substr(0, comma));
    list = comma == std::string_view::npos ? std::string_view() : list.substr(comma + 1);
    if (!item.empty() && !each(item)) return false;
  }
  return true;
}

}  // namespace steelyard::http
