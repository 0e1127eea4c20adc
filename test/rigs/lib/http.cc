#include "test/rigs/lib/http.h"

#include <algorithm>
#include <charconv>
#include <strings.h>

namespace steelyard::rigs {
namespace {

bool same(std::string_view a, std::string_view b) {
  return a.size() == b.size() && ::strncasecmp(a.data(), b.data(), a.size()) == 0;
}

std::string_view trim(std::string_view text) {
  const auto from = text.find_first_not_of(" \t");
  if (from == text.npos) return {};
  return text.substr(from, text.find_last_not_of(" \t") - from + 1);
}

}  // namespace

std::string_view Head::field(std::string_view name) const {
  for (const auto& [key, value] : fields) {
    if (same(key, name)) return value;
  }
  return {};
}

std::vector<std::string_view> Head::all(std::string_view name) const {
  std::vector<std::string_view> out;
  for (const auto& [key, value] : fields) {
    if (same(key, name)) out.push_back(value);
  }
  return out;
}

std::string_view Head::word(int index) const {
  std::string_view rest = first;
  for (; index > 0; --index) rest.remove_prefix(std::min(rest.find(' '), rest.size() - 1) + 1);
  return rest.substr(0, rest.find(' '));
}

int Head::status() const {
  const auto text = first.size() > 9 && first.starts_with("HTTP/") ? word(1) : std::string_view();
  int out = 0;
  (void)std::from_chars(text.data(), text.data() + text.size(), out);
  return out;
}

bool MessageReader::inside() const {
  if (state_ == State::kIdle) return false;
  return state_ != State::kHead || !partial_.empty();
}

bool MessageReader::end() {
  if (state_ != State::kUntilEnd) return !inside();
  finish();
  return true;
}

void MessageReader::finish() {
  state_ = kind_ == Kind::kRequest ? State::kHead : State::kIdle;
  if (on_end) on_end();
}

bool MessageReader::head(std::string_view text) {
  Head out;
  for (bool first = true; !text.empty(); first = false) {
    const auto end = text.find("\r\n");
    const auto one = text.substr(0, end);
    text.remove_prefix(end == text.npos ? text.size() : end + 2);
    if (first) {
      out.first = one;
      continue;
    }
    if (one.empty()) break;
    const auto colon = one.find(':');
    if (colon == one.npos) return false;
    out.fields.emplace_back(one.substr(0, colon), trim(one.substr(colon + 1)));
  }
  const int status = kind_ == Kind::kAnswer ? out.status() : 0;
  if (kind_ == Kind::kAnswer && status == 0) return false;
  if (status >= 100 && status < 200 && status != 101) {
    ++interim_;
    return true;
  }
  const auto length = out.field("Content-Length");
  const bool bare = no_body_ || status == 204 || status == 304;
  if (bare) {
    state_ = State::kIdle;
  } else if (same(out.field("Transfer-Encoding"), "chunked")) {
    state_ = State::kChunkSize;
  } else if (!length.empty()) {
    const auto done = std::from_chars(length.data(), length.data() + length.size(), left_);
    if (done.ec != std::errc() || done.ptr != length.data() + length.size()) return false;
    state_ = left_ > 0 ? State::kLength : State::kIdle;
  } else {
    state_ = kind_ == Kind::kAnswer ? State::kUntilEnd : State::kIdle;
  }
  const bool over = state_ == State::kIdle;
  if (on_head) on_head(out);
  if (over) finish();
  return true;
}

bool MessageReader::line(std::string_view text) {
  if (state_ == State::kChunkEnd) {
    state_ = State::kChunkSize;
    return text.empty();
  }
  if (state_ == State::kTrailers) {
    if (text.empty()) finish();
    return true;
  }
  text = trim(text.substr(0, text.find(';')));
  const auto done = std::from_chars(text.data(), text.data() + text.size(), left_, 16);
  if (text.empty() || done.ec != std::errc() || done.ptr != text.data() + text.size()) return false;
  state_ = left_ > 0 ? State::kChunk : State::kTrailers;
  return true;
}

bool MessageReader::feed(std::string_view bytes) {
  while (!bytes.empty()) {
    if (state_ == State::kIdle) return false;
    if (state_ == State::kLength || state_ == State::kChunk || state_ == State::kUntilEnd) {
      const auto part =
          state_ == State::kUntilEnd
              ? bytes
              : bytes.substr(
                    0, static_cast<std::size_t>(std::min<std::uint64_t>(left_, bytes.size())));
      bytes.remove_prefix(part.size());
      if (state_ != State::kUntilEnd) left_ -= part.size();
      if (on_body) on_body(part);
      if (state_ == State::kLength && left_ == 0) finish();
      if (state_ == State::kChunk && left_ == 0) state_ = State::kChunkEnd;
      continue;
    }
    const std::string_view mark = state_ == State::kHead ? "\r\n\r\n" : "\r\n";
    const auto before = partial_.size();
    partial_.append(bytes);
    const auto from = before < mark.size() ? 0 : before - mark.size() + 1;
    const auto end = partial_.find(mark, from);
    if (end == std::string::npos) return partial_.size() < (1U << 21U);
    bytes.remove_prefix(end + mark.size() - before);
    const std::string text = std::exchange(partial_, {}).substr(0, end);
    if (!(state_ == State::kHead ? head(text) : line(text))) return false;
  }
  return true;
}

}  // namespace steelyard::rigs
