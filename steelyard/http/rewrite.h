// Rewriting heads for the other side: what a gateway must take out, what it adds, and the answers
// it makes itself.
//
// Taken out: hop-by-hop fields, those named by Connection, Transfer-Encoding, fields with `_` in
// the name (look-alikes), load reports; repeated Content-Length lines become one. Added to a
// request: X-Forwarded-For (the peer, behind what a trusted one sent), X-Forwarded-Proto and -Host
// (what a trusted peer sent stays), Via, X-Request-Id (ours replaces, when given). The request line
// becomes `METHOD path HTTP/1.1` (CONNECT: `CONNECT authority HTTP/1.1`) and Host the authority (of
// HTTP/1.0 without one: what the edits say, RFC 9112 3.3).
// Upgrade passes in a request when the edits say so, without h2c, and in a 101 that opens a tunnel.
// Of TE only `trailers` is ever said, when the edits say so.
// Use: room of `*_bound()` bytes, then
// `write_*()`, which gives the size written (never above the bound). Cost: one pass, memcpy, no
// allocation. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "steelyard/http/head.h"

namespace steelyard::http {

struct RequestEdits {
  std::string_view peer_ip;            // of the client, as text; empty: no X-Forwarded-For is added
  std::string_view scheme = "http";    // how the client came
  std::string_view host;               // of a request that names none; empty: Host is empty too
  std::string_view request_id;         // empty: X-Request-Id stays as it came
  std::string_view via = "steelyard";  // pseudonym in Via; empty: none
  // The client is a proxy of ours: what it says of its own client stays (X-Forwarded-For as far as
  // it is well-formed, from the right, in one line; -Proto, -Host, -Port, X-Real-IP, Forwarded).
  // From anyone else all of these are taken out.
  bool trust_forwarded = false;
  std::string_view traceparent;  // Trace::traceparent(); empty: it passes as it came
  bool new_trace = false;        // with traceparent: !Trace::continued(), tracestate is dropped
  // Fields of our own, such as the deadline: each replaces all that came under its name. Not for
  // the names above, nor for framing or hop-by-hop ones. A few at most: every field is compared
  // with each.
  std::span<const Field> set;
  bool upgrade = false;   // pass Head::upgrade on; set OutHead::upgrade too when there is one
  bool trailers = false;  // say `TE: trailers`; set OutHead::trailers too
};

[[nodiscard]] std::size_t request_bound(const Head& head, const RequestEdits& edits) noexcept;
std::size_t write_request(const Head& head, const RequestEdits& edits, char* out) noexcept;

struct AnswerEdits {           // names as in RequestEdits::set
  std::span<const Field> set;  // each replaces all that came under its name
  std::span<const Field> add;  // stands behind what came: Set-Cookie
};

// An answer that is `clean` and gets no edits needs no rewriting: share *head.raw.
[[nodiscard]] std::size_t response_bound(const Head& head, const AnswerEdits& edits = {}) noexcept;
std::size_t write_response(const Head& head, char* out, const AnswerEdits& edits = {}) noexcept;

// Does the client take trailers (RFC 9110 10.1.4)? Its TE is its word to us alone; passed on is
// ours.
[[nodiscard]] bool takes_trailers(const Head& head) noexcept;

// OutHead without bytes, with the facts of `head` (method, status, body, length).
[[nodiscard]] OutHead out_facts(const Head& head) noexcept;

// The head of a short answer of our own.
// The body is the caller's: `length` bytes sent with send_body.
inline constexpr std::size_t kAnswerBound = 512;
std::size_t write_answer_head(
    std::uint16_t status, std::string_view content_type, std::size_t length,
    char* out) noexcept;  // content_type: at most 128 bytes; empty: no such field
[[nodiscard]] std::string_view reason_phrase(std::uint16_t status) noexcept;  // "" when unknown
// Value of Allow: methods that may pass; others than these may too.
inline constexpr std::string_view kAllowed = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS";
// A whole static answer with `Connection: close`, for what cannot be parsed; 400 when the status
// has none of its own.
[[nodiscard]] std::string_view error_answer(std::uint16_t status) noexcept;

}  // namespace steelyard::http
