// A reader of HTTP/1 messages for the rigs: well-formed messages of peers that mean well. Written
// apart from the product's parser, so that the two cannot share a mistake.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace steelyard::rigs {

struct Head {
  std::string first;  // the start line
  std::vector<std::pair<std::string, std::string>> fields;

  // The value of the first field of that name, whatever its case; empty when there is none.
  [[nodiscard]] std::string_view field(std::string_view name) const;
  [[nodiscard]] std::vector<std::string_view> all(std::string_view name) const;
  [[nodiscard]] std::string_view method() const { return word(0); }
  [[nodiscard]] std::string_view target() const { return word(1); }
  [[nodiscard]] int status() const;  // 0: none
 private:
  [[nodiscard]] std::string_view word(int index) const;
};

class MessageReader {
 public:
  enum class Kind { kRequest, kAnswer };
  explicit MessageReader(Kind kind) : kind_(kind) {}

  std::function<void(const Head&)> on_head;  // not of interim answers
  std::function<void(std::string_view)> on_body;
  std::function<void()> on_end;

  // Before an answer: it is one to HEAD.
  void no_body(bool wanted) { no_body_ = wanted; }
  // False when the bytes are no message (for answers also: bytes behind the end of one unless
  // `expect` was called again). Callbacks may call `stop`.
  bool feed(std::string_view bytes);
  void expect() { state_ = State::kHead; }
  // The stream has ended. True when that is a clean end: between messages, or of a body that lasts
  // until then.
  bool end();
  // A message has begun and not ended.
  [[nodiscard]] bool inside() const;
  [[nodiscard]] std::uint64_t interim() const { return interim_; }

 private:
  enum class State { kHead, kLength, kUntilEnd, kChunkSize, kChunk, kChunkEnd, kTrailers, kIdle };
  bool head(std::string_view text);
  bool line(std::string_view text);
  void finish();

  Kind kind_;
  State state_ = State::kHead;
  std::string partial_;
  std::uint64_t left_ = 0, interim_ = 0;
  bool no_body_ = false;
};

}  // namespace steelyard::rigs
