// HTTP/1.0 and 1.1 codecs: strict, incremental, one stream at a time. Rules: RFC 9112, and where it
// leaves a choice the strict one: bare LF, obs-fold, white space before the colon, two framings,
// any doubt about lengths → 400 and close.
//
// Heads are parsed in place in the received Buf; only a head (or its rest) that is split over reads
// is joined in a block of the worker's Http1Pool. Bodies are slices of the received Bufs. The pool
// also holds the one array of parsed fields, so an idle codec costs under 200 bytes. Limits:
// Http1Limits; defaults as in docs. Pipelining: a second request is parsed only after the first is
// answered. Threads: one worker; the pool outlives its codecs, and the Bufs of its blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "steelyard/http/codec.h"

namespace steelyard::http {

struct Http1Limits {
  std::size_t max_head = std::size_t{64} << 10;  // bytes of a head; the same for trailers
  std::size_t max_fields = 100;
  std::size_t max_line = std::size_t{8} << 10;        // bytes of the request line
  std::uint64_t max_body = std::uint64_t{100} << 20;  // of a request; 0: no limit
  bool connect = false;  // CONNECT reaches the driver; otherwise the codec answers 501
};

class Http1Pool;  // one a worker: scratch fields and joining blocks
[[nodiscard]] std::shared_ptr<Http1Pool> make_http1_pool(Http1Limits limits = {});
// Bytes of blocks that codecs and Bufs hold: of heads that came in parts.
[[nodiscard]] std::size_t joined_bytes(const Http1Pool& pool) noexcept;
// Frees some blocks that no load of the last minute needed (base/surplus.h); their bytes. `second`:
// one has passed since the last call that said so.
std::size_t trim(Http1Pool& pool, bool second) noexcept;

[[nodiscard]] std::unique_ptr<ServerCodec> make_http1_server(std::shared_ptr<Http1Pool> pool,
                                                             CodecEvents& events);
[[nodiscard]] std::unique_ptr<ClientCodec> make_http1_client(std::shared_ptr<Http1Pool> pool,
                                                             CodecEvents& events);

}  // namespace steelyard::http
