// Http1Writer: the parts of one outgoing HTTP/1 message → bytes, with the framing of this
// connection.
//
// The head's bytes are sent as they are; what belongs to the connection (Transfer-Encoding,
// Connection) is put behind them from static text. Bodies pass through; chunk sizes are written
// into small rooms of the driver. A chunk's closing CRLF travels with the next size. `complete`
// tells whether what was promised was sent.
#pragma once

#include <cstdint>
#include <span>

#include "steelyard/http/codec.h"

namespace steelyard::http {

class Http1Writer {
 public:
  enum class Mode : std::uint8_t { kNothing, kLength, kChunked, kUntilClose };
  enum class Say : std::uint8_t { kNothing, kClose, kKeepAlive, kUpgrade, kTe, kUpgradeTe };

  explicit Http1Writer(CodecEvents& events) noexcept : events_(&events) {}
  void head(base::Buf bytes, Mode mode, std::uint64_t length, Say say) noexcept;
  void body(base::Buf bytes) noexcept;
  void trailers(std::span<const Field> fields) noexcept;
  void end() noexcept;
  void tunnel() noexcept { mode_ = Mode::kUntilClose; }  // bytes pass as they are from here on
  [[nodiscard]] bool complete() const noexcept { return mode_ != Mode::kLength || left_ == 0; }
  [[nodiscard]] Mode mode() const noexcept { return mode_; }

 private:
  void chunk_size(std::size_t size) noexcept;

  CodecEvents* events_;
  Mode mode_ = Mode::kNothing;
  bool in_chunks_ = false;  // a chunk was sent: its CRLF is still owed
  bool trailed_ = false;
  std::uint64_t left_ = 0;
  Room room_;
  std::size_t room_used_ = 0;
};

}  // namespace steelyard::http
