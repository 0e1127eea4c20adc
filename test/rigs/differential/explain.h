// Why a peer refuses what the program takes: choices that the RFCs leave open, each of one peer.
//
//   Nginx    a method with other bytes than A-Z, `_` and `-` (RFC 9110, 9.1: any token);
//            `%00`, and `%` without two digits, in a path, which it decodes (we pass it on as it
//            is); a tab before, or `~` and the like in, a host (RFC 9110, 5.6.3; RFC 3986, 3.2.2)
//   HAProxy  bytes above 127 in a target (Nginx and we pass them on);
//            another Host than the target's (RFC 9112, 3.2.2: the target's counts, and we send it);
//            an upgrade to a WebSocket whose handshake is incomplete (we forward no upgrade there)
//
// An input that both refuse is explained when each takes it once its own choices are met, and no
// others: then no single thing is refused by both. Pure.
#pragma once

#include <string>

namespace steelyard::rigs {

// The input with what only that peer refuses made harmless; the same when there is nothing.
[[nodiscard]] std::string as_nginx_likes(const std::string& input);
[[nodiscard]] std::string as_haproxy_likes(const std::string& input);

}  // namespace steelyard::rigs
