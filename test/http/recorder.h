// A driver of one codec that records what happened, for tests and the fuzz target.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "steelyard/http/http1.h"
#include "steelyard/http/rewrite.h"

namespace steelyard::http::testing {

struct Message {
  std::string head;  // as it would be forwarded
  std::string raw;   // as received
  std::string target, method, authority;
  std::uint16_t status = 0;
  std::vector<std::uint16_t> interim;
  Body kind = Body::kNone;
  std::uint64_t length = 0;
  bool clean = false, keep_alive = false, expect = false;
  std::string upgrade;
  std::string body, trailers;
  bool ended = false, reset = false;
  Why why = Why::kCancelled;
  std::uint16_t told = 0;  // the status in the Reset
  friend bool operator==(const Message&, const Message&) = default;
};

class Recorder : public CodecEvents {
 public:
  std::vector<Message> messages;
  std::string output;
  std::size_t credit = 0;
  bool output_ended = false;
  bool upgrade = false;  // pass it on in what is written
  int pending = 0, refused = 0;
  std::uint16_t refused_status = 0, refused_told = 0, refused_body = 0;
  std::string refused_head;
  bool closed = false;
  Close how = Close::kLinger;
  std::size_t largest_room = 0;
  std::function<void(StreamId)> when_head, when_body, when_end;  // what the driver does at once

  void on_head(StreamId id, const Head& head) noexcept override {
    if (messages.empty() || id != last_) messages.emplace_back();
    last_ = id;
    Message& m = messages.back();
    if (head.is_interim()) {
      m.interim.push_back(head.status);
      return;
    }
    m.raw = head.raw->text();
    m.target = head.path, m.method = head.method_text, m.authority = head.authority;
    m.status = head.status, m.kind = head.body, m.length = head.length, m.clean = head.clean;
    m.keep_alive = head.keep_alive, m.expect = head.expect_continue, m.upgrade = head.upgrade;

    std::string out;
    if (head.status == 0) {
      const RequestEdits edits{.peer_ip = "127.0.0.9", .request_id = "rid-1", .upgrade = upgrade};
      out.resize(request_bound(head, edits));
      out.resize(write_request(head, edits, out.data()));
    } else {
      out.resize(response_bound(head));
      out.resize(write_response(head, out.data()));
    }
    m.head = out;
    if (when_head) when_head(id);
  }
  void on_body(StreamId id, base::Buf bytes) noexcept override {
    messages.back().body += bytes.text();
    if (when_body) when_body(id);
  }
  void on_trailers(StreamId, std::span<const Field> fields) noexcept override {
    for (const Field& f : fields)
      messages.back().trailers += std::string(f.name) + "=" + std::string(f.value) + ";";
  }
  void on_end(StreamId id) noexcept override {
    messages.back().ended = true;
    if (when_end) when_end(id);
  }
  void on_reset(StreamId id, const Reset& reset) noexcept override {
    if (messages.empty() || id != last_) messages.emplace_back();
    last_ = id;
    messages.back().reset = true;
    messages.back().why = reset.why;
    messages.back().told = reset.status;
  }
  void on_writable(StreamId) noexcept override {}
  void on_output(base::Buf bytes) noexcept override { output += bytes.text(); }
  void on_output_end() noexcept override { output_ended = true; }
  void on_credit(std::size_t bytes) noexcept override { credit += bytes; }
  void on_pending() noexcept override { ++pending; }
  void on_refused(const Reset& reset, std::string_view head) noexcept override {
    ++refused, refused_status = reset.status, refused_head = head;
    refused_told = reset.told, refused_body = reset.told_body;
  }
  void on_close(Close close) noexcept override { closed = true, how = close; }
  Room room(std::size_t bytes) noexcept override {
    largest_room = std::max(largest_room, bytes);
    base::Buf buf = base::Buf::heap_copy(std::string(bytes, '\0'));
    char* const text = const_cast<char*>(buf.text().data());  // nobody else has this storage yet
    return {std::move(buf), text};
  }

 private:
  StreamId last_ = StreamId::kNone;
};

// Sends a whole answer (or request) with a body of known length.
inline void send_answer(Codec& codec, StreamId id, std::uint16_t status, std::string_view body) {
  std::string head(kAnswerBound, '\0');
  head.resize(write_answer_head(status, "text/plain", body.size(), head.data()));
  codec.send_head(
      id, OutHead{base::Buf::heap_copy(head), Method::kOther, status, Body::kLength, body.size()});
  codec.send_body(id, base::Buf::heap_copy(body));
  codec.send_end(id);
}

// The start of each piece when `text` is fed in one of four ways.
enum class Way { kWhole, kBytes, kLines, kRandom };

}  // namespace steelyard::http::testing
