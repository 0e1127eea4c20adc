// Form: how a text must be spelled that ends up in bytes which others parse: request targets, Host,
// names of fields and cookies, names of files.
//
// The rules of HTTP are those that the proxy holds clients to (http/target.h, http/chars.h); a
// test of http compares the two byte by byte. The empty text has every form: whether it may stand
// is another limit of the field. Pure; for loading only.
#pragma once

#include <cstdint>
#include <string_view>

namespace steelyard::schema {

enum class Form : std::uint8_t {
  kAny,
  kTarget,     // "/path?query": visible bytes without `#`
  kAuthority,  // "host" or "host:port", as in Host
  kHost,       // the same without a port
  kToken,      // a name of HTTP: fields, cookies, methods
  kArgument,   // the name of a query argument, as sent
  kLine,       // no control bytes: names of files, words of commands
  kText,       // no control bytes but tabs: a line of a log, the value of a field
};

// The same but for the case of ASCII letters.
[[nodiscard]] bool same_word(std::string_view a, std::string_view b) noexcept;
[[nodiscard]] bool has_form(Form form, std::string_view text) noexcept;
// What a text without the form is told: "must be …".
[[nodiscard]] std::string_view words_of(Form form) noexcept;
// A regular expression that every text of the form matches, for the JSON schema; nothing: none.
[[nodiscard]] std::string_view pattern_of(Form form) noexcept;

}  // namespace steelyard::schema
