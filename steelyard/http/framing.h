// What a scanned head means: version, Host, framing, connection options. RFC 9112 sections 3, 6, 7;
// RFC 9110 7.6.1.
//
// Each fills a Head whose fields were scanned, marks the fields that must not be forwarded, and
// says kBad with the status for the client (requests) or 502 (answers). Cost: one pass over the
// fields; Connection options are capped at 64.
#pragma once

#include "steelyard/http/codec.h"
#include "steelyard/http/http1.h"
#include "steelyard/http/scan.h"

namespace steelyard::http {

// How the bytes after a head are read; a tunnel is kUntilClose.
enum class Framing : std::uint8_t { kNone, kLength, kChunked, kUntilClose };

struct Meaning {
  bool ok = false;
  Framing framing = Framing::kNone;
  Reset bad;
};

struct Asked {  // what an answer answers
  Method method = Method::kOther;
  std::string_view upgrade;  // the protocols that were offered; empty: none
};

[[nodiscard]] Meaning understand_request(const StartLine& start, std::span<Field> fields,
                                         const Http1Limits& limits, Head& head) noexcept;
[[nodiscard]] Meaning understand_response(const StartLine& start, std::span<Field> fields,
                                          const Asked& asked, Head& head) noexcept;
// Whether fields among trailers that frame, which mean nothing there, are at least well-formed: who
// sends others is no trailer's author.
[[nodiscard]] bool sound_trailers(std::span<const Field> fields) noexcept;
// Takes out what must not stand in trailers (RFC 9110 6.5.1); gives how many are left, in front and
// in order.
[[nodiscard]] std::size_t keep_good_trailers(std::span<Field> fields) noexcept;

}  // namespace steelyard::http
