#include "steelyard/http/secrets.h"

#include <algorithm>

#include "steelyard/http/chars.h"
#include "steelyard/http/head.h"

namespace steelyard::http {
namespace {

constexpr std::array<std::string_view, 15> kSecretFields{"authorization",
                                                         "proxy-authorization",
                                                         "cookie",
                                                         "set-cookie",
                                                         "cookie2",
                                                         "set-cookie2",
                                                         "x-api-key",
                                                         "api-key",
                                                         "x-auth-token",
                                                         "x-access-token",
                                                         "x-csrf-token",
                                                         "x-token",
                                                         "private-token",
                                                         "x-vault-token",
                                                         "x-amz-security-token"};

constexpr char lower(char c) noexcept {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
}

char hex_pair(char high, char low) noexcept {
  const auto value = [](char c) {
    return static_cast<unsigned>(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
  };
  return static_cast<char>(value(high) << 4 | value(low));
}

// Is `sent`, percent-decoded and in lower case, the `name`?
bool means(std::string_view sent, std::string_view name) noexcept {
  std::size_t at = 0;
  for (const char wanted : name) {
    if (at == sent.size()) return false;
    char c = sent[at++];
    if (c == '%' && sent.size() - at >= 2 && is_char(sent[at], kHex) &&
        is_char(sent[at + 1], kHex)) {
      c = hex_pair(sent[at], sent[at + 1]);
      at += 2;
    }
    if (lower(c) != wanted) return false;
  }
  return at == sent.size();
}

}  // namespace

bool is_secret_field(std::string_view name) noexcept {
  return std::any_of(kSecretFields.begin(), kSecretFields.end(),
                     [&](std::string_view secret) { return same_word(name, secret); });
}

SecretArguments::SecretArguments() : names_(kSecretArguments.begin(), kSecretArguments.end()) {}

SecretArguments::SecretArguments(std::span<const std::string> names)
    : names_(names.begin(), names.end()) {
  for (std::string& name : names_) std::transform(name.begin(), name.end(), name.begin(), lower);
}

bool SecretArguments::contains(std::string_view name) const noexcept {
  return std::any_of(names_.begin(), names_.end(),
                     [&](const std::string& secret) { return means(name, secret); });
}

}  // namespace steelyard::http
