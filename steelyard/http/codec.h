// Codec: turns the bytes of one connection into streams and back. One interface for protocols with
// many streams (HTTP/2) and with one at a time (HTTP/1); the proxy's unit is the stream, never the
// connection.
//
// A codec owns no socket. Its driver (one connection) feeds it with what the transport delivers and
// does what the events say: `on_output` → Stream::write, `on_credit` → Stream::grant, `on_close` →
// linger or abort.
//
// Order of events of one stream: on_head (interim heads first, then the final one), on_body*,
// on_trailers?, on_end; or on_reset at any point, after which nothing more comes for it. A stream
// is over when both directions are: on_end came and send_end was called, or it was reset by either
// side.
//
// Credit: every stream starts with kInitialCredit bytes of body that may be delivered; `grant` adds
// to it when bytes have been used up. Ungranted bytes stay with the peer (HTTP/1: in the socket;
// HTTP/2: its window).
//
// Tunnels. A request may ask for one: Upgrade (Head::upgrade, OutHead::upgrade) or CONNECT. It is
// complete with its head: on_end follows at once and send_end is called as for any other. Its final
// head decides. With Body::kTunnel (101 to Upgrade, 2xx to CONNECT) both directions open again,
// with fresh credit: on_body and send_body carry raw bytes, on_end is the peer's FIN, send_end
// ours, each without the other (half close), and when both have come the stream is over and the
// connection is closed. What the client sends before that head is held back (at most kInitialCredit
// bytes, or what was already granted) and comes after it, from resume(): it is never read as a
// request. Any other final head is a plain answer, and HTTP goes on; only behind a refused CONNECT
// the connection ends, because what follows may have been meant for the tunnel. A 101 that was not
// asked for, or chooses a protocol that was not offered, is the node's mistake (kProtocol). A
// tunnel's head may be sent only for a request that asked.
//
// Calls from inside events are allowed (send, reset, grant), destroying the codec is not: note it
// and destroy it after `receive` or `resume` has returned. Calls never bring events of a *new*
// stream: when the end of one makes room for the next that is already here (pipelining),
// `on_pending` asks for `resume()` from a clean stack. After on_close every call is harmless and
// does nothing. Threads: one. Cost: no allocation after warm-up.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "steelyard/base/buf.h"
#include "steelyard/http/head.h"

namespace steelyard::http {

enum class StreamId : std::uint32_t { kNone = 0 };

inline constexpr std::size_t kInitialCredit = std::size_t{64} << 10;

enum class Why : std::uint8_t {
  kCancelled,  // the other side of the stream gave it up
  kClosed,     // the connection ended before the first byte of an answer
  kTruncated,  // the connection ended in the middle of a message
  kProtocol,   // the peer broke the protocol
  kLimit,      // one of our limits: head, fields, body
  kRefused,    // the peer says that it did nothing (HTTP/2 REFUSED_STREAM): safe to repeat
};

struct Reset {
  Why why = Why::kCancelled;
  std::uint16_t status =
      0;  // what a client should be told, if anything can still be told: 400, 413, 502 …
  std::string_view text;  // static; for logs: "bad chunk size"
  // What a codec answered by itself: bytes, and of which body; 0: nothing.
  std::uint16_t told = 0;
  std::uint16_t told_body = 0;
};

enum class Close : std::uint8_t {
  kLinger,  // everything is said: flush, FIN, discard until the peer's FIN (2 s or 64 KiB at most)
  kFlush,   // the same, and the peer has said that it sends nothing more: flush and close
  kAbort,   // the peer must see that something is missing, or sent what it must not: reset
};

// Memory for what the codec itself writes: `text` is writable and holds buf.size() bytes of the
// same storage.
struct Room {
  base::Buf buf;
  char* text = nullptr;
};

class CodecEvents {
 public:
  virtual void on_head(StreamId id, const Head& head) noexcept = 0;
  virtual void on_body(StreamId id, base::Buf bytes) noexcept = 0;
  virtual void on_trailers(StreamId id,
                           std::span<const Field> fields) noexcept = 0;  // without those to drop
  virtual void on_end(StreamId id) noexcept = 0;  // the peer's message is complete
  virtual void on_reset(StreamId id,
                        const Reset& reset) noexcept = 0;  // the stream is dead in both directions
  virtual void on_writable(
      StreamId id) noexcept = 0;  // unsent(id) fell to zero (HTTP/2 windows; HTTP/1 never calls)
  virtual void on_output(base::Buf bytes) noexcept = 0;  // for the transport, in order
  // FIN behind all output, while input goes on: a tunnel's half close. on_close still comes later.
  virtual void on_output_end() noexcept {}  // needs no code in a driver that begins no tunnels
  virtual void on_credit(std::size_t bytes) noexcept = 0;  // let the transport deliver so many more
  virtual void on_pending() noexcept = 0;                  // call resume() soon, from a clean stack
  // A peer's mistake outside any stream (a head that cannot be parsed, or did not come in time);
  // the codec has answered it as the protocol wants. `head`: of the request as it came, as far as
  // it is here.
  virtual void on_refused(const Reset& reset, std::string_view head) noexcept = 0;
  virtual void on_close(Close how) noexcept = 0;  // the last event
  // For answers of the codec's own (RFC 9110 6.6.1), valid until the next call; empty: they have
  // none.
  virtual std::string_view date() noexcept { return {}; }
  virtual Room room(
      std::size_t bytes) noexcept = 0;  // memory from the driver, at least so many bytes

 protected:
  ~CodecEvents() = default;
};

class Codec {
 public:
  virtual ~Codec() = default;

  // From the transport. `start` once, before anything else: sends the preface, asks for the first
  // credit.
  virtual void start() noexcept = 0;
  virtual void receive(base::Buf bytes) noexcept = 0;
  virtual void receive_end() noexcept = 0;  // FIN
  virtual void
  receive_failed() noexcept = 0;  // reset, time-out: every live stream gets on_reset; no on_close
  virtual void resume() noexcept = 0;  // go on with what is already here

  // To the peer. Interim heads (1xx) may come before the final one; after send_end nothing may be
  // sent.
  virtual void send_head(StreamId id, OutHead head) noexcept = 0;
  virtual void send_body(StreamId id, base::Buf bytes) noexcept = 0;
  virtual void send_trailers(StreamId id,
                             std::span<const Field> fields) noexcept = 0;  // before send_end
  virtual void send_end(StreamId id) noexcept = 0;
  virtual void reset(StreamId id, Why why) noexcept = 0;  // gives the stream up; no on_reset for it
  virtual void grant(StreamId id, std::size_t bytes) noexcept = 0;
  [[nodiscard]] virtual std::size_t unsent(
      StreamId id) const noexcept = 0;  // held back inside the codec (HTTP/1: 0)

  // No new streams: HTTP/1 closes after the answer in progress (at once when idle), HTTP/2 sends
  // GOAWAY.
  virtual void drain() noexcept = 0;
  [[nodiscard]] virtual bool closed() const noexcept = 0;          // on_close was called
  [[nodiscard]] virtual std::size_t streams() const noexcept = 0;  // live ones
};

class ServerCodec : public Codec {  // towards clients
 public:
  // Nothing of a request is here: neither a live stream nor part of a head. Idle connections may be
  // closed freely.
  [[nodiscard]] virtual bool idle() const noexcept = 0;
  // Bytes kept of a request whose head is not whole.
  [[nodiscard]] virtual std::size_t held() const noexcept = 0;
  // Bytes received that are not yet used: they lie behind what was given last.
  [[nodiscard]] virtual std::size_t unread() const noexcept = 0;
  // Refuses what is being received (a head that took too long: 408), with on_refused, and closes;
  // silently when nothing had come. `text`: as in Reset.
  virtual void refuse(std::uint16_t status, std::string_view text) noexcept = 0;
};

class ClientCodec : public Codec {  // towards nodes
 public:
  // A new stream, or kNone when the connection cannot take one (HTTP/1: busy, closing or used up).
  [[nodiscard]] virtual StreamId open() noexcept = 0;
  [[nodiscard]] virtual bool can_open()
      const noexcept = 0;  // idle and reusable: belongs into the pool
};

}  // namespace steelyard::http
