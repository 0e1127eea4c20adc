// A fake codec with two streams at once, for whoever drives codecs: it keeps them honest about "the
// unit is the stream".
//
// No wire format: a test plays the peer by calling peer_*(), and reads what was sent from
// `sent(id)`. Output goes through on_output as tagged text so that a transport sees bytes in order.
#pragma once

#include <array>
#include <string>

#include "steelyard/http/codec.h"

namespace steelyard::http::testing {

class FakeCodec final : public ServerCodec {
 public:
  struct Seen {  // what the driver did to a stream
    std::uint16_t status = 0;
    std::string head, body, trailers;
    std::size_t granted = 0;
    bool ended = false, reset = false;
  };
  explicit FakeCodec(CodecEvents& events) : events_(events) {}

  void peer_head(StreamId id, const Head& head) { live(id) = true, events_.on_head(id, head); }
  void peer_body(StreamId id, std::string_view text) {
    events_.on_body(id, base::Buf::heap_copy(text));
  }
  void peer_end(StreamId id) { over(id, 1), events_.on_end(id); }
  void peer_reset(StreamId id, Why why) {
    live(id) = false, events_.on_reset(id, Reset{why, 0, "fake"});
  }
  Seen& sent(StreamId id) { return seen_[static_cast<std::size_t>(id) - 1]; }

  void start() noexcept override { events_.on_credit(2 * kInitialCredit); }
  void receive(base::Buf) noexcept override {}
  void receive_end() noexcept override { close(Close::kLinger); }
  void receive_failed() noexcept override {
    for (unsigned i = 1; i <= 2; ++i) {
      if (live(StreamId{i})) peer_reset(StreamId{i}, Why::kTruncated);
    }
  }
  void resume() noexcept override {}
  void send_head(StreamId id, OutHead head) noexcept override {
    sent(id).status = head.status, sent(id).head += head.bytes.text();
    events_.on_output(std::move(head.bytes));
  }
  void send_body(StreamId id, base::Buf bytes) noexcept override {
    sent(id).body += bytes.text();
    events_.on_output(std::move(bytes));
  }
  void send_trailers(StreamId id, std::span<const Field> fields) noexcept override {
    for (const Field& field : fields)
      sent(id).trailers += std::string(field.name) + ": " + std::string(field.value) + "\n";
  }
  void send_end(StreamId id) noexcept override { sent(id).ended = true, over(id, 2); }
  void reset(StreamId id, Why) noexcept override { sent(id).reset = true, live(id) = false; }
  void grant(StreamId id, std::size_t bytes) noexcept override { sent(id).granted += bytes; }
  std::size_t unsent(StreamId) const noexcept override { return 0; }
  void drain() noexcept override { draining_ = true; }
  bool closed() const noexcept override { return closed_; }
  std::size_t streams() const noexcept override {
    return std::size_t{live_[0]} + std::size_t{live_[1]};
  }
  bool idle() const noexcept override { return streams() == 0; }
  std::size_t held() const noexcept override { return 0; }
  std::size_t unread() const noexcept override { return 0; }
  void refuse(std::uint16_t, std::string_view) noexcept override { close(Close::kLinger); }
  bool draining() const noexcept { return draining_; }

 private:
  bool& live(StreamId id) { return live_[static_cast<std::size_t>(id) - 1]; }
  void over(StreamId id, unsigned side) {
    if ((halves_[static_cast<std::size_t>(id) - 1] |= side) == 3)
      live(id) = false, halves_[static_cast<std::size_t>(id) - 1] = 0;
  }
  void close(Close how) {
    if (!closed_) closed_ = true, events_.on_close(how);
  }
  CodecEvents& events_;
  std::array<Seen, 2> seen_;
  std::array<bool, 2> live_{};
  std::array<unsigned, 2> halves_{};
  bool draining_ = false, closed_ = false;
};

}  // namespace steelyard::http::testing
