// The target of a request, in its four forms, and the authority that it or Host names. RFC
// 9112 3.2, RFC 3986 3.2.
//
// Cost: one pass over the text. Pure.
#pragma once

#include <string_view>

#include "steelyard/http/head.h"

namespace steelyard::http {

// Fills path, https and, of the absolute form and of CONNECT, authority from method and target,
// which must not be empty. False: not a target for this method.
[[nodiscard]] bool read_target(Head& head) noexcept;

// host[:port]; no userinfo, no list.
[[nodiscard]] bool valid_authority(std::string_view text) noexcept;

}  // namespace steelyard::http
