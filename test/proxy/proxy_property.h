// Fuzz target of the whole proxy loop in simulated time: what a client sends, what a node answers,
// who breaks off when.
//
// Input: two bytes that steer (seed, options), then steps: a byte that chooses, a byte that counts,
// and for the sending steps so many bytes. Checked: what reaches a node parses strictly, as
// requests that a client really sent (method, target, authority, and a complete body where it is
// said to be complete); an incomplete request is never completed on the way; when everybody has
// gone nothing is in flight and no exchange is left.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "steelyard/proxy/address_counts.h"

#include "test/http/recorder.h"
#include "test/http/require.h"
#include "test/proxy/sim_rig.h"

namespace steelyard::proxy::testing {

using http::testing::Message;
using http::testing::require;

// The requests in the bytes of one connection, each answered at once. `strict`: nothing may be
// malformed, but what follows CONNECT is the tunnel's, and with `upgraded` what follows Upgrade.
inline std::vector<Message> requests_in(std::string_view wire, bool strict, bool upgraded = false) {
  http::testing::Recorder seen;
  http::Http1Limits limits{.connect = true};
  if (strict) {  // with room for what the proxy adds
    limits.max_head *= 2;
    limits.max_fields *= 2;
    limits.max_line *= 2;
  }
  const auto pool = http::make_http1_pool(limits);
  const auto codec = http::make_http1_server(pool, seen);
  seen.when_end = [&](http::StreamId id) {
    const Message& asked = seen.messages.back();
    if (strict && asked.method == "CONNECT") return;
    if (upgraded && !asked.upgrade.empty()) return;
    http::testing::send_answer(*codec, id, 200, "ok");
  };
  codec->start();
  codec->receive(base::Buf::heap_copy(wire));
  for (int handled = 0; handled < seen.pending && !seen.closed; ++handled) codec->resume();
  if (strict) {
    require(seen.refused == 0);
    for (const Message& message : seen.messages) require(!message.reset);
  }
  return std::move(seen.messages);
}

class ProxyLoop {
 public:
  ProxyLoop(unsigned seed, unsigned options) : rig_(setup(seed, options)) {
    for (int i = 0; i < 2; ++i) {
      rig_.add_node([this](SimNode&, Conn& conn) {
        if (conn.open) last_ = &conn;
      });
    }
    dial();
  }

  // Gives the bytes used up.
  std::size_t step(std::string_view rest) {
    const unsigned what = static_cast<unsigned char>(rest[0]) % 11;
    const std::size_t many = static_cast<unsigned char>(rest[1]);
    const std::string_view bytes = rest.substr(2, what < 2 ? many : 0);
    switch (what) {
      case 0:
        send(bytes);
        break;
      case 1:
        answer(bytes);
        break;
      case 2:
        rig_.run(std::chrono::milliseconds(1 + many), std::chrono::milliseconds(5));
        break;
      case 3:
        answer(kOk);
        break;
      case 4:
        if (!client_over_) client().peer->end();
        client_over_ = true;
        break;
      case 5:
        if (last_ != nullptr) last_->end();
        break;
      case 6:
        if (last_ != nullptr) forget_node();
        break;
      case 7:
        if (!client_over_) client().peer->reset();
        client_over_ = true;
        break;
      case 8:
        if (sent_.size() < 4) dial();
        break;
      case 9:
        rig_.run(std::chrono::seconds(20), std::chrono::seconds(1));
        break;
      default:
        answer("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
        break;
    }
    if (what != 2 && what != 9) rig_.run(std::chrono::microseconds(300));
    return 2 + bytes.size();
  }

  void check() {
    rig_.run(std::chrono::milliseconds(50), std::chrono::milliseconds(5));
    std::vector<Message> asked;
    for (const std::string& text : sent_) {
      for (Message& message : requests_in(text, false)) asked.push_back(std::move(message));
    }
    for (const SimNode& node : rig_.nodes) {
      for (const Conn& conn : node.conns) {
        for (const Message& got : requests_in(conn.in, true, upgraded_.contains(&conn))) {
          require(was_asked(got, asked));
        }
      }
    }
    for (auto& client : rig_.clients) client.peer->reset();
    (void)rig_.until(
        [this] { return rig_.worker->connections() == 0 && rig_.worker->exchanges() == 0; },
        std::chrono::seconds(3));
    require(rig_.in_flight() == 0);
    require(rig_.worker->exchanges() == 0);
    require(rig_.worker->widened() == 0);
    require(rig_.worker->connections() == 0);
  }

 private:
  static SimRig::Setup setup(unsigned seed, unsigned options) {
    // Large, and empty again after each input: made once.
    static const auto addresses = std::make_shared<AddressCounts>(1);
    SimRig::Setup setup;
    setup.addresses = addresses;
    setup.seed = seed + 1;
    setup.partial = (options & 1U) != 0;
    setup.retry.attempts = (options >> 1U) & 1U;
    if ((options & 4U) != 0) setup.upgrades = {"websocket"};
    setup.connect = (options & 8U) != 0;
    return setup;
  }

  [[nodiscard]] bool was_asked(const Message& got, const std::vector<Message>& asked) const {
    const std::string own = rig_.address.to_text();  // for those of HTTP/1.0 that name no host
    for (const Message& one : asked) {
      const std::string& authority = one.authority.empty() ? own : one.authority;
      const bool bare = one.target.starts_with('?');  // after an authority; sent on with its slash
      const std::string& target = bare ? "/" + one.target : one.target;
      if (one.method != got.method || target != got.target || authority != got.authority) continue;
      if (!got.ended ? one.body.starts_with(got.body) : one.ended && one.body == got.body)
        return true;
    }
    return false;
  }

  SimClient& client() { return rig_.clients.back(); }
  void dial() {
    rig_.dial();
    sent_.emplace_back();
    client_over_ = false;
  }
  void send(std::string_view bytes) {
    if (client_over_ || client().closed()) return;
    client().send(bytes);
    sent_.back() += bytes;
  }
  void answer(std::string_view bytes) {
    if (last_ == nullptr) return;
    last_->send(bytes);
    if (bytes.find(" 101") != bytes.npos) upgraded_.insert(last_);
  }
  void forget_node() {
    last_->reset();
    last_ = nullptr;
  }

  SimRig rig_;
  std::set<const Conn*> upgraded_;  // by what the node said
  Conn* last_ = nullptr;            // the node's connection that was made last and is open
  std::vector<std::string> sent_;   // by client
  bool client_over_ = false;
};

inline void check_proxy_property(std::string_view input) {
  if (input.size() < 4 || input.size() > 4096) return;
  ProxyLoop loop(static_cast<unsigned char>(input[0]), static_cast<unsigned char>(input[1]));
  input.remove_prefix(2);
  for (int steps = 0; input.size() >= 2 && steps < 64; ++steps) {
    input.remove_prefix(std::min(input.size(), loop.step(input)));
  }
  loop.check();
}

}  // namespace steelyard::proxy::testing
