// Head: the parsed first part of a request or an answer, whatever the protocol, as views into
// received bytes.
//
// A Head and everything it points at are valid only inside the `on_head` that brings it. What must
// live longer is written out at once (rewrite.h) into memory of the caller. Field names keep the
// sender's case (HTTP/1) and are compared without it; the ones that the rules need are recognised
// once, by length and first letter, and carry a FieldId.
//
// `clean` says that the message may be forwarded byte for byte (`raw`): no hop-by-hop field, no
// field that must not pass, one framing, our own version. Cost: no allocation; find() is one pass
// over at most `max_fields` entries.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "steelyard/base/buf.h"

namespace steelyard::http {

enum class Version : std::uint8_t { k10, k11, k2 };

enum class Method : std::uint8_t {
  kOther,
  kGet,
  kHead,
  kPost,
  kPut,
  kDelete,
  kOptions,
  kPatch,
  kConnect,
  kTrace,
};
[[nodiscard]] Method method_of(std::string_view text) noexcept;
// RFC 9110 9.2.2: doing it twice is doing it once, so a broken attempt may be repeated.
[[nodiscard]] constexpr bool is_idempotent(Method m) noexcept {
  return m == Method::kGet || m == Method::kHead || m == Method::kPut || m == Method::kDelete ||
         m == Method::kOptions || m == Method::kTrace;
}

enum class FieldId : std::uint8_t {
  kOther,
  kHost,
  kConnection,
  kContentLength,
  kTransferEncoding,
  kKeepAlive,
  kProxyConnection,
  kTe,
  kTrailer,
  kUpgrade,
  kHttp2Settings,
  kExpect,
  kVia,
  kForwarded,
  kXForwardedFor,
  kXForwardedProto,
  kXForwardedHost,
  kXForwardedPort,
  kXRealIp,
  kXRequestId,
  kCookie,
  kSetCookie,
  kAuthorization,
  kContentType,
  kContentEncoding,
  kContentRange,
  kCacheControl,
  kRetryAfter,
  kTraceParent,
  kTraceState,
  kLoadReport,  // endpoint-load-metrics and -bin: between node and balancer only
};
[[nodiscard]] FieldId field_of(std::string_view name) noexcept;

struct Field {
  std::string_view name;
  std::string_view value;  // without the white space around it
  FieldId id = FieldId::kOther;
  bool drop = false;  // must not be forwarded: hop-by-hop, named by Connection, or dubious (`_` in
                      // the name)
};

// How the body is delimited, as the receiver of the head may rely on.
enum class Body : std::uint8_t {
  kNone,    // ends with the head
  kLength,  // exactly `length` bytes (may be 0)
  kStream,  // as many as come until on_end: chunked, until close, HTTP/2 without content-length
  kTunnel,  // of a final answer only: the stream is a tunnel from here on (codec.h)
};

struct Head {
  // Of a request.
  Method method = Method::kOther;
  std::string_view method_text;
  std::string_view target;  // as sent: origin, absolute or asterisk form
  std::string_view
      path;  // what follows the authority, with query: "/a?b"; "*" for OPTIONS *; never empty
  std::string_view authority;  // host[:port] of the absolute form, else of Host; may be empty in
                               // HTTP/1.0; of CONNECT host:port, and `path` is empty then
  bool https = false;          // the absolute form says so; how the client came is not known by it
  // Of an answer.
  std::uint16_t status = 0;  // 100 … 999
  std::string_view reason;

  Version version = Version::k11;
  Body body = Body::kNone;
  std::uint64_t length = 0;  // of Body::kLength; for an answer to HEAD what Content-Length said
  bool has_length = false;   // Content-Length was present and valid
  bool keep_alive = true;    // the peer would keep the connection
  bool expect_continue =
      false;  // Expect: 100-continue of an HTTP/1.1 request whose body is still to come
  bool clean = false;
  // Of a request: the protocols that it asks to go on in, as its Upgrade field lists them. Empty
  // unless Connection names Upgrade, the version is 1.1, there is one such line, no body follows,
  // and more than h2c is asked for (h2c is never passed on). Of an answer with Body::kTunnel to
  // such a request (101): what the node chose. HTTP/2's extended CONNECT is shown as the GET with
  // Upgrade that it stands for, and its 200 as a 101.
  std::string_view upgrade;
  std::span<const Field> fields;
  const base::Buf* raw =
      nullptr;  // the whole head as received, with its empty line; share() it to keep it

  [[nodiscard]] bool is_interim() const noexcept {
    return status >= 100 && status < 200 && body != Body::kTunnel;
  }
  [[nodiscard]] const Field* find(FieldId id) const noexcept {
    for (const Field& field : fields) {
      if (field.id == id) return &field;
    }
    return nullptr;
  }
  [[nodiscard]] const Field* find(std::string_view name) const noexcept;  // without regard to case
};

// Same letters, ASCII case aside.
[[nodiscard]] bool same_word(std::string_view a, std::string_view b) noexcept;

// A head ready to be sent. The bytes are in HTTP/1 form for every codec (HTTP/2 encodes them
// itself): start line, fields, empty line; no hop-by-hop field and no Transfer-Encoding, for these
// belong to the connection and its codec adds them; Content-Length stands there when body is
// kLength (and may for HEAD and 304). Upgrade is the exception: it stands in the bytes of a request
// that asks for it (`upgrade` is set) and of a 101 with Body::kTunnel; its Connection is the
// codec's. So is that of `TE: trailers` (`trailers` is set).
struct OutHead {
  base::Buf bytes;
  Method method = Method::kOther;  // of a request
  std::uint16_t status = 0;        // of an answer
  Body body = Body::kNone;
  std::uint64_t length = 0;
  bool upgrade = false;  // of a request: a 101 that chooses one of the offered protocols is welcome
  bool trailers = false;  // of a request: `TE: trailers` stands in the bytes
};

}  // namespace steelyard::http
