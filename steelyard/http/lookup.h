// Looking things up in a request's head, for matching routes and taking hash keys.
//
// Everything is a view into the head and is valid as long as it. Nothing is decoded, joined or
// changed in case: what comes back is what the client sent. Of several with one name the first one
// counts. "There, and empty" (an empty view) is not "not there" (nullopt). Cost: one pass over the
// target, or over the fields; no allocation. Pure.
#pragma once

#include <optional>
#include <string_view>

#include "steelyard/http/head.h"

namespace steelyard::http {

// What stands before the first `?`. Empty for CONNECT, "*" for OPTIONS *, else it begins with `/`
// (an absolute form without path has "/").
[[nodiscard]] std::string_view path_of(const Head& head) noexcept;
// What stands behind the first `?`; empty when there is none or nothing follows it.
[[nodiscard]] std::string_view query_of(const Head& head) noexcept;

// The argument `name` of a query "a=1&b&c=": names are compared byte for byte, as sent (so `%61` is
// not `a`, and `+` is a plus); only `&` separates. `b` and `c` above are there, and empty.
[[nodiscard]] std::optional<std::string_view> query_argument(std::string_view query,
                                                             std::string_view name) noexcept;
[[nodiscard]] inline std::optional<std::string_view> query_argument(
    const Head& head, std::string_view name) noexcept {
  return query_argument(query_of(head), name);
}

// The cookie `name` over all Cookie lines, in order; names are compared byte for byte. Pairs are
// separated by `;`, blanks around name and value are taken off, quotes are part of the value, a
// pair without `=` is no cookie.
[[nodiscard]] std::optional<std::string_view> cookie(const Head& head,
                                                     std::string_view name) noexcept;

// The value of the first field of that name, without regard to case; also of fields that are not
// passed on (hop-by-hop ones, and Host).
[[nodiscard]] std::optional<std::string_view> header(const Head& head,
                                                     std::string_view name) noexcept;

// The host of an authority "host[:port]", without port and without the brackets of an IPv6 address.
[[nodiscard]] std::string_view host_of(std::string_view authority) noexcept;

}  // namespace steelyard::http
