// What must never be written in clear: values of certain fields, and of certain arguments of a
// query. Everything that shows traffic (access log, taps, errors) asks here.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace steelyard::http {

inline constexpr std::string_view kRedacted = "[redacted]";

// Authorization, Proxy-Authorization, Cookie, Set-Cookie, X-API-Key and their like; case aside.
[[nodiscard]] bool is_secret_field(std::string_view name) noexcept;

// Names of arguments whose values are secret unless the configuration has its own list.
inline constexpr std::array<std::string_view, 29> kSecretArguments{"access_key",
                                                                   "access_token",
                                                                   "api_key",
                                                                   "apikey",
                                                                   "auth",
                                                                   "auth_token",
                                                                   "client_secret",
                                                                   "code",
                                                                   "code_verifier",
                                                                   "id_token",
                                                                   "jwt",
                                                                   "key",
                                                                   "otp",
                                                                   "pass",
                                                                   "passwd",
                                                                   "password",
                                                                   "pwd",
                                                                   "refresh_token",
                                                                   "secret",
                                                                   "session",
                                                                   "session_id",
                                                                   "sessionid",
                                                                   "sig",
                                                                   "signature",
                                                                   "token",
                                                                   "x-amz-credential",
                                                                   "x-amz-security-token",
                                                                   "x-amz-signature",
                                                                   "x-goog-signature"};

// Splits an address (a request's target, or a whole URL as in Referer) into what may be shown and
// what may not. Names are compared without regard to case and after percent-decoding, since servers
// do that too; `&` and `;` separate, and what follows `#` counts as arguments. The user part of an
// authority ("user:password@") is secret as well. Built once; use is const and allocates nothing.
class SecretArguments {
 public:
  SecretArguments();  // kSecretArguments
  explicit SecretArguments(std::span<const std::string> names);

  [[nodiscard]] bool contains(std::string_view name) const noexcept;
  // Calls `each(piece, secret)` in order; the pieces together are `url`.
  template <typename F>
  void split(std::string_view url, F each) const noexcept {
    user_part(url, each);
    std::size_t at = url.find_first_of("?#");
    if (at == std::string_view::npos) return each(url, false);
    each(url.substr(0, ++at), false);
    url.remove_prefix(at);
    while (!url.empty()) {
      const std::size_t end = url.find_first_of("&;#?");
      const std::string_view item = url.substr(0, end);
      const std::size_t equals = item.find('=');
      const bool secret = equals != std::string_view::npos && equals + 1 < item.size() &&
                          contains(item.substr(0, equals));
      const std::size_t shown = secret ? equals + 1 : item.size();
      if (shown > 0) each(item.substr(0, shown), false);
      if (secret) each(item.substr(shown), true);
      if (end == std::string_view::npos) return;
      each(url.substr(end, 1), false);
      url.remove_prefix(end + 1);
    }
  }

 private:
  template <typename F>
  static void user_part(std::string_view& url, F& each) noexcept {
    const std::size_t scheme = url.substr(0, url.find_first_of("/?#")).find(':');
    if (scheme == std::string_view::npos || url.substr(scheme).substr(0, 3) != "://") return;
    const std::string_view authority =
        url.substr(scheme + 3, url.find_first_of("/?#", scheme + 3) - scheme - 3);
    const std::size_t at = authority.rfind('@');
    if (at == std::string_view::npos) return;
    each(url.substr(0, scheme + 3), false);
    if (at > 0) each(authority.substr(0, at), true);
    url.remove_prefix(scheme + 3 + at);
  }
  std::vector<std::string> names_;  // lower case
};

}  // namespace steelyard::http
