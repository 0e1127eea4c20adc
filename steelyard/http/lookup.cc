#include "steelyard/http/lookup.h"

#include "steelyard/http/list.h"

namespace steelyard::http {
namespace {

// Calls `each(item)` for what stands between separators, until it gives true.
template <typename F>
void find_item(std::string_view text, char separator, F each) noexcept {
  while (!text.empty()) {
    const std::size_t end = text.find(separator);
    if (each(text.substr(0, end)) || end == std::string_view::npos) return;
    text.remove_prefix(end + 1);
  }
}

}  // namespace

std::string_view path_of(const Head& head) noexcept {
  const std::string_view path = head.path.substr(0, head.path.find('?'));
  return path.empty() && head.method != Method::kConnect ? std::string_view("/") : path;
}

std::string_view query_of(const Head& head) noexcept {
  const std::size_t mark = head.path.find('?');
  return mark == std::string_view::npos ? std::string_view() : head.path.substr(mark + 1);
}

std::optional<std::string_view> query_argument(std::string_view query,
                                               std::string_view name) noexcept {
  std::optional<std::string_view> found;
  if (name.empty()) return found;
  find_item(query, '&', [&](std::string_view item) {
    const std::size_t equals = item.find('=');
    if (item.substr(0, equals) != name) return false;
    found = equals == std::string_view::npos ? item.substr(item.size()) : item.substr(equals + 1);
    return true;
  });
  return found;
}

std::optional<std::string_view> cookie(const Head& head, std::string_view name) noexcept {
  std::optional<std::string_view> found;
  if (name.empty()) return found;
  for (const Field& field : head.fields) {
    if (field.id != FieldId::kCookie) continue;
    find_item(field.value, ';', [&](std::string_view pair) {
      const std::size_t equals = pair.find('=');
      if (equals == std::string_view::npos || trim_blanks(pair.substr(0, equals)) != name)
        return false;
      found = trim_blanks(pair.substr(equals + 1));
      return true;
    });
    if (found) break;
  }
  return found;
}

std::optional<std::string_view> header(const Head& head, std::string_view name) noexcept {
  const Field* const field = head.find(name);
  return field == nullptr ? std::nullopt : std::optional(field->value);
}

std::string_view host_of(std::string_view authority) noexcept {
  if (!authority.empty() && authority.front() == '[') {
    const std::size_t close = authority.find(']');
    return close == std::string_view::npos ? authority.substr(1) : authority.substr(1, close - 1);
  }
  return authority.substr(0, authority.find(':'));
}

}  // namespace steelyard::http
