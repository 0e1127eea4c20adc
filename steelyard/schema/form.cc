#include "steelyard/schema/form.h"

#include <algorithm>

namespace steelyard::schema {
namespace {

bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }
bool is_alnum(char c) noexcept {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool is_hex(char c) noexcept {
  return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}
bool is_control(char c) noexcept { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

bool is_token_char(char c) noexcept {
  constexpr std::string_view kOther = "!#$%&'*+-.^_`|~";  // RFC 9110 5.6.2
  return is_alnum(c) || kOther.find(c) != std::string_view::npos;
}
bool is_target_char(char c) noexcept { return !is_control(c) && c != ' ' && c != '#'; }

template <typename Is>
bool all(std::string_view text, Is is) noexcept {
  return std::all_of(text.begin(), text.end(), is);
}

bool is_port(std::string_view text) noexcept {
  unsigned value = 0;
  for (const char c : text) {
    if (!is_digit(c)) return false;
    value = value * 10 + static_cast<unsigned>(c - '0');
    if (value > 65535) return false;
  }
  return true;
}

// Letters, digits, `-._~` and %XX.
bool is_name(std::string_view text) noexcept {
  constexpr std::string_view kOther = "-._~";
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (is_alnum(text[i]) || kOther.find(text[i]) != std::string_view::npos) continue;
    if (text[i] != '%' || i + 2 >= text.size() || !is_hex(text[i + 1]) || !is_hex(text[i + 2]))
      return false;
    i += 2;
  }
  return !text.empty();
}

bool is_authority(std::string_view text, bool port) noexcept {
  std::string_view rest;
  if (text.starts_with('[')) {
    const auto close = text.find(']');
    if (close == std::string_view::npos || close < 3) return false;
    if (!all(text.substr(1, close - 1), [](char c) { return is_hex(c) || c == ':' || c == '.'; }))
      return false;
    rest = text.substr(close + 1);
  } else {
    const auto colon = text.find(':');
    if (!is_name(text.substr(0, colon))) return false;
    if (colon != std::string_view::npos) rest = text.substr(colon);
  }
  return rest.empty() || (port && rest.front() == ':' && is_port(rest.substr(1)));
}

}  // namespace

bool same_word(std::string_view a, std::string_view b) noexcept {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](char x, char y) { return lower(x) == lower(y); });
}

bool has_form(Form form, std::string_view text) noexcept {
  if (text.empty()) return true;
  switch (form) {
    case Form::kAny:
      return true;
    case Form::kTarget:
      return text.front() == '/' && all(text, is_target_char);
    case Form::kAuthority:
      return is_authority(text, true);
    case Form::kHost:
      return is_authority(text, false);
    case Form::kToken:
      return all(text, is_token_char);
    case Form::kArgument:
      return all(text, [](char c) { return is_target_char(c) && c != '&' && c != '='; });
    case Form::kLine:
      return std::none_of(text.begin(), text.end(), is_control);
    case Form::kText:
      return all(text, [](char c) { return !is_control(c) || c == '\t'; });
  }
  return false;
}

std::string_view words_of(Form form) noexcept {
  switch (form) {
    case Form::kAny:
      break;
    case Form::kTarget:
      return "must be as in a request: \"/\" first, no spaces, control bytes or #";
    case Form::kAuthority:
      return "must be as in Host: a name or address, with a port or without";
    case Form::kHost:
      return "must be a name or address without a port: letters, digits, dots and dashes";
    case Form::kToken:
      return "must be a name of letters, digits, dashes or other bytes of a token";
    case Form::kArgument:
      return "must be a name as sent: no spaces, control bytes, #, & or =";
    case Form::kLine:
      return "must have no control bytes";
    case Form::kText:
      return "must have no control bytes but tabs";
  }
  return "";
}

std::string_view pattern_of(Form form) noexcept {
  switch (form) {
    case Form::kAny:
      break;
    case Form::kTarget:
      return "^(/[^\\u0000-\\u0020\\u007f#]*)?$";
    case Form::kAuthority:
      return "^([A-Za-z0-9._~%-]+|\\[[0-9A-Fa-f:.]+\\])?(:[0-9]*)?$";
    case Form::kHost:
      return "^([A-Za-z0-9._~%-]+|\\[[0-9A-Fa-f:.]+\\])?$";
    case Form::kToken:
      return "^[A-Za-z0-9!#$%&'*+.^_`|~-]*$";
    case Form::kArgument:
      return "^[^\\u0000-\\u0020\\u007f#&=]*$";
    case Form::kLine:
      return "^[^\\u0000-\\u001f\\u007f]*$";
    case Form::kText:
      return "^[^\\u0000-\\u0008\\u000a-\\u001f\\u007f]*$";
  }
  return "";
}

}  // namespace steelyard::schema
