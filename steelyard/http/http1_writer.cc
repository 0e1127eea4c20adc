#include "steelyard/http/http1_writer.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "steelyard/http/framing.h"

namespace steelyard::http {
namespace {

constexpr std::size_t kSizeRoom = 256;  // holds about 16 chunk sizes
constexpr std::size_t kLongestSize = 2 + 16 + 2;

std::string_view suffix(bool chunked, Http1Writer::Say say) noexcept {
  switch (say) {
    case Http1Writer::Say::kClose:
      return chunked ? "Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
                     : "Connection: close\r\n\r\n";
    case Http1Writer::Say::kKeepAlive:
      return chunked ? "Transfer-Encoding: chunked\r\nConnection: keep-alive\r\n\r\n"
                     : "Connection: keep-alive\r\n\r\n";
    case Http1Writer::Say::kUpgrade:
      return "Connection: Upgrade\r\n\r\n";
    case Http1Writer::Say::kTe:
      return chunked ? "Transfer-Encoding: chunked\r\nConnection: TE\r\n\r\n"
                     : "Connection: TE\r\n\r\n";
    case Http1Writer::Say::kUpgradeTe:
      return "Connection: Upgrade, TE\r\n\r\n";
    case Http1Writer::Say::kNothing:
      break;
  }
  return chunked ? "Transfer-Encoding: chunked\r\n\r\n" : "";
}

}  // namespace

void Http1Writer::head(base::Buf bytes, Mode mode, std::uint64_t length, Say say) noexcept {
  mode_ = mode;
  left_ = mode == Mode::kLength ? length : 0;
  in_chunks_ = trailed_ = false;
  const std::string_view more = suffix(mode == Mode::kChunked, say);
  if (!more.empty() && bytes.size() >= 2)
    bytes.trim_back(2);  // its empty line stands in the suffix
  events_->on_output(std::move(bytes));
  if (!more.empty()) events_->on_output(base::Buf::of_static(more));
}

void Http1Writer::chunk_size(std::size_t size) noexcept {
  if (room_.text == nullptr || room_.buf.size() - room_used_ < kLongestSize) {
    room_ = events_->room(kSizeRoom);
    room_used_ = 0;
  }
  char* const begin = room_.text + room_used_;
  char* at = begin;
  if (in_chunks_) {
    *at++ = '\r';
    *at++ = '\n';
  }
  at = std::to_chars(at, at + 16, size, 16).ptr;
  *at++ = '\r';
  *at++ = '\n';
  const auto written = static_cast<std::size_t>(at - begin);
  events_->on_output(room_.buf.share(room_used_, written));
  room_used_ += written;
}

void Http1Writer::body(base::Buf bytes) noexcept {
  if (bytes.empty() || mode_ == Mode::kNothing) return;
  if (mode_ == Mode::kLength) {
    if (bytes.size() > left_) bytes.trim_back(bytes.size() - static_cast<std::size_t>(left_));
    left_ -= bytes.size();
    if (bytes.empty()) return;
  } else if (mode_ == Mode::kChunked) {
    chunk_size(bytes.size());
    in_chunks_ = true;
  }
  events_->on_output(std::move(bytes));
}

void Http1Writer::trailers(std::span<const Field> fields) noexcept {
  if (mode_ != Mode::kChunked || trailed_) return;
  std::size_t size = 7;
  for (const Field& field : fields) size += field.name.size() + field.value.size() + 4;
  Room room = events_->room(size);
  char* at = room.text;
  const auto put = [&at](std::string_view text) {
    if (!text.empty()) std::memcpy(at, text.data(), text.size());
    at += text.size();
  };
  put(in_chunks_ ? "\r\n0\r\n" : "0\r\n");
  for (const Field& field : fields) {
    if (field.drop) continue;
    put(field.name);
    put(": ");
    put(field.value);
    put("\r\n");
  }
  put("\r\n");
  room.buf.trim_back(room.buf.size() - static_cast<std::size_t>(at - room.text));
  events_->on_output(std::move(room.buf));
  trailed_ = true;
}

void Http1Writer::end() noexcept {
  if (mode_ == Mode::kChunked && !trailed_) {
    events_->on_output(base::Buf::of_static(in_chunks_ ? "\r\n0\r\n\r\n" : "0\r\n\r\n"));
  }
  room_ = {};
  room_used_ = 0;
}

}  // namespace steelyard::http
