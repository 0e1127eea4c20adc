// Rewriting heads for the other side: what a gateway must take out, what it adds, and the answers
// it makes itself.
//
// Taken out: hop-by-hop fields, those named by Connection, Transfer-Encoding, fields with `_` in
// the name (look-alikes), load reports; repeated Content-Length lines become one. Added to a
// request: X-Forwarded-For (the peer behind what came), X-Forwarded-Proto and -Host (ours replace
// what came, unless it is trusted), Via, X-Request-Id (ours replaces, when given). The request line
// becomes `METHOD path HTTP/1.1` and Host the authority. Use: room of `*_bound()` bytes, then
// `write_*()`, which gives the size written (never above the bound). Cost: one pass, memcpy, no
// allocation. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "steelyard/http/head.h"

namespace steelyard::http {

struct RequestEdits {
  std::string_view peer_ip;            // of the client, as text; empty: no X-Forwarded-For is added
  std::string_view scheme = "http";    // how the client came
  std::string_view request_id;         // empty: X-Request-Id stays as it came
  std::string_view via = "steelyard";  // pseudonym in Via; empty: none
  bool trust_forwarded = false;        // keep the client's X-Forwarded-Proto and -Host
};

[[nodiscard]] std::size_t request_bound(const Head& head, const RequestEdits& edits) noexcept;
std::size_t write_request(const Head& head, const RequestEdits& edits, char* out) noexcept;

// An answer that is `clean` needs no rewriting: share *head.raw.
[[nodiscard]] std::size_t response_bound(const Head& head) noexcept;
std::size_t write_response(const Head& head, char* out) noexcept;

// OutHead without bytes, with the facts of `head` (method, status, body, length).
[[nodiscard]] OutHead out_facts(const Head& head) noexcept;

// The head of a short answer of our own.
// The body is the caller's: `length` bytes sent with send_body.
inline constexpr std::size_t kAnswerBound = 512;
std::size_t write_answer_head(
    std::uint16_t status, std::string_view content_type, std::size_t length,
    char* out) noexcept;  // content_type: at most 128 bytes; empty: no such field
[[nodiscard]] std::string_view reason_phrase(std::uint16_t status) noexcept;  // "" when unknown
// A whole static answer with `Connection: close`, for what cannot be parsed; 400 when the status
// has none of its own.
[[nodiscard]] std::string_view error_answer(std::uint16_t status) noexcept;

}  // namespace steelyard::http
