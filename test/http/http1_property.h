// Fuzz target of the HTTP/1 codecs: any bytes, cut anywhere, fed to the server and to the client
// side.
//
// Input: two bytes that steer (which side, what was asked, how it is answered, how to cut), then
// the wire. Checked: no crash, the verdict of the whole buffer equals the verdict of the cut one,
// what is accepted is accepted again when written out (with the same meaning), credit is never
// overdrawn without bound, and output memory stays small.

#pragma once

#include <cstdint>
#include <cstdlib>
#include <string>

#include "steelyard/base/rng.h"

#include "test/http/recorder.h"
#include "test/http/require.h"

namespace steelyard::http::testing {

struct Outcome {
  std::vector<Message> messages;
  std::string output;
  bool closed = false;
  friend bool operator==(const Outcome&, const Outcome&) = default;
};

inline OutHead asked_by(unsigned steer) {
  OutHead head;
  head.bytes = base::Buf::of_static("GET / HTTP/1.1\r\n\r\n");
  head.method = (steer & 2U) != 0 ? Method::kHead : Method::kGet;
  if ((steer & 64U) != 0) {
    head.bytes = base::Buf::of_static("GET / HTTP/1.1\r\nUpgrade: websocket, a/1\r\n\r\n");
    head.upgrade = true;
  } else if ((steer & 128U) != 0) {
    head.bytes = base::Buf::of_static("CONNECT a:1 HTTP/1.1\r\n\r\n");
    head.method = Method::kConnect;
  }
  return head;
}

// Opens the tunnel that the request asks for, once; what ends after that is the tunnel.
inline bool accept_tunnel(Codec& codec, StreamId id, const Message& request) {
  const bool connect = request.method == "CONNECT";
  if (!connect && request.upgrade.empty()) return false;
  OutHead head;
  head.bytes = base::Buf::of_static(connect ? "HTTP/1.1 200 OK\r\n\r\n"
                                            : "HTTP/1.1 101 S\r\nUpgrade: a\r\n\r\n");
  head.status = connect ? 200 : 101;
  head.body = Body::kTunnel;
  codec.send_head(id, std::move(head));  // ignored in the tunnel
  return true;
}

inline Outcome run(std::string_view wire, unsigned steer, bool cut, std::uint64_t seed) {
  base::Rng rng(seed);
  Recorder seen;
  const bool tunnels = (steer & 64U) != 0;
  const Http1Limits limits{
      .max_head = 512, .max_fields = 12, .max_line = 128, .max_body = 4096, .connect = tunnels};
  auto pool = make_http1_pool(limits);
  const bool server_side = (steer & 1U) != 0;
  std::unique_ptr<ServerCodec> server;
  std::unique_ptr<ClientCodec> client;
  Codec* codec = nullptr;
  if (server_side) {
    server = make_http1_server(pool, seen);
    codec = server.get();
    seen.upgrade = tunnels;
    seen.when_end = [&](StreamId id) {
      if (tunnels && accept_tunnel(*codec, id, seen.messages.back())) return;
      send_answer(*codec, id, (steer & 2U) != 0 ? 200 : 404, "ok");
    };
    if ((steer & 4U) != 0) seen.when_head = seen.when_end;  // answered before the body is here
  } else {
    client = make_http1_client(pool, seen);
    codec = client.get();
    const StreamId id = client->open();
    codec->send_head(id, asked_by(steer));
    codec->send_end(id);
  }
  seen.when_body = [&](StreamId id) { codec->grant(id, 16); };
  codec->start();
  while (!wire.empty()) {
    const std::size_t size =
        cut ? std::min<std::size_t>(wire.size(), 1 + rng.below((steer & 8U) != 0 ? 3 : 40))
            : wire.size();
    codec->receive(base::Buf::heap_copy(wire.substr(0, size)));
    wire.remove_prefix(size);
  }
  if ((steer & 16U) != 0) codec->receive_end();
  if ((steer & 32U) != 0) codec->receive_failed();
  require(seen.credit <= (std::size_t{1} << 20) + 64 * wire.size());
  return {seen.messages, seen.output, seen.closed};
}

// What we would send on must be read by ourselves as the same request.
inline void again(const Message& m) {
  Recorder seen;
  auto server = make_http1_server(make_http1_pool({.connect = true}), seen);
  std::string wire = m.head;
  if (wire.find("\r\nUpgrade: ") != std::string::npos) {
    require(!m.upgrade.empty());
    wire.insert(wire.size() - 2, "Connection: Upgrade\r\n");
  }
  if (m.kind == Body::kStream) wire.insert(wire.size() - 2, "Transfer-Encoding: chunked\r\n");
  server->receive(base::Buf::heap_copy(wire));
  require(seen.refused == 0 && seen.messages.size() == 1);
  const Message& n = seen.messages[0];
  require(n.method == m.method && n.kind == m.kind && n.length == m.length);
  require(n.upgrade.empty() == (wire.find("\r\nUpgrade: ") == std::string::npos));
  require(n.authority == m.authority && (n.target == m.target || n.target == "/" + m.target));
}

// And what we would send on of an answer, as the same answer.
inline void answer_again(const Message& m, unsigned steer) {
  Recorder seen;
  auto client = make_http1_client(make_http1_pool(), seen);
  const StreamId id = client->open();
  client->send_head(id, asked_by(steer));
  client->send_end(id);
  std::string wire = m.head;
  if (m.kind == Body::kStream) wire.insert(wire.size() - 2, "Transfer-Encoding: chunked\r\n");
  client->receive(base::Buf::heap_copy(wire));
  require(seen.messages.size() == 1 && !seen.messages[0].reset);
  const Message& n = seen.messages[0];
  require(n.status == m.status && n.kind == m.kind);
  // Framing says nothing about the length of a 204, and it is not sent on.
  require(n.length == m.length || m.status == 204 || m.kind == Body::kStream);
}

inline void check_http1_property(std::string_view input) {
  if (input.size() < 2 || input.size() > 20000) return;
  const auto steer = static_cast<unsigned char>(input[0]);
  const auto seed = static_cast<unsigned char>(input[1]);
  const Outcome whole = run(input.substr(2), steer, false, 0);
  require(run(input.substr(2), steer, true, seed) == whole);
  if ((steer & 1U) == 0) {
    for (const Message& m : whole.messages) {
      if (!m.head.empty()) answer_again(m, steer);
    }
    return;
  }
  for (const Message& m : whole.messages) {
    if (!m.head.empty() && !m.authority.empty()) again(m);
  }
}

}  // namespace steelyard::http::testing
