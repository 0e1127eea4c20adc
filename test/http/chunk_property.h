// Property of the chunk decoder: however the bytes are cut, it gives what a plain decoder of the
// whole text gives: the same bytes, the same verdict, never more bytes than came, never one of the
// bytes behind the message.
//
// Input: one byte that says how to cut, then what follows the head of a chunked request.
#pragma once

#include <string>

#include "steelyard/base/rng.h"
#include "steelyard/http/chars.h"

#include "test/http/recorder.h"
#include "test/http/require.h"

namespace steelyard::http::testing {

struct Chunks {
  enum class Verdict {
    kMore,
    kBad,
    kTrailers
  } verdict = Verdict::kMore;  // kTrailers: last chunk seen
  std::string body;
};

inline constexpr std::uint64_t kMostChunked = 1 << 16;  // max_body of the test

// RFC 9112 7.1, written to be read.
inline Chunks decode_chunks(std::string_view text) {
  Chunks out;
  std::uint64_t total = 0;
  const auto stop = [&](Chunks::Verdict verdict) { return out.verdict = verdict, out; };
  for (;;) {
    std::uint64_t size = 0;
    std::size_t digits = 0;
    while (digits < text.size() && is_char(text[digits], kHex)) {
      const char c = text[digits++];
      if (digits > 16) return stop(Chunks::Verdict::kBad);
      size = size * 16 + static_cast<std::uint64_t>(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
    }
    if (digits == text.size()) return out;
    if (digits == 0) return stop(Chunks::Verdict::kBad);
    text.remove_prefix(digits);
    if (text.front() == ';') {
      text.remove_prefix(1);
      while (!text.empty() && text.front() != '\r') {
        if (!is_char(text.front(), kValue)) return stop(Chunks::Verdict::kBad);
        text.remove_prefix(1);
      }
      if (text.empty()) return out;
    }
    if (text.front() != '\r') return stop(Chunks::Verdict::kBad);
    if (text.size() == 1) return out;
    if (text[1] != '\n') return stop(Chunks::Verdict::kBad);
    text.remove_prefix(2);
    if (size > kMostChunked || (total += size) > kMostChunked) return stop(Chunks::Verdict::kBad);
    if (size == 0) return stop(Chunks::Verdict::kTrailers);
    out.body += text.substr(0, size);
    if (text.size() < size) return out;
    text.remove_prefix(size);
    for (const char want : {'\r', '\n'}) {
      if (text.empty()) return out;
      if (text.front() != want) return stop(Chunks::Verdict::kBad);
      text.remove_prefix(1);
    }
  }
}

inline void check_chunk_property(std::string_view input) {
  if (input.empty() || input.size() > 12'000) return;  // below the cap of extensions
  base::Rng rng(static_cast<unsigned char>(input[0]));
  const std::size_t most = input[0] % 3 == 0 ? 3 : 60;
  input.remove_prefix(1);
  const Chunks want = decode_chunks(input);
  require(want.body.size() <= input.size());
  for (const bool cut : {false, true}) {
    Recorder seen;
    auto codec = make_http1_server(make_http1_pool({.max_body = kMostChunked}), seen);
    codec->start();
    codec->receive(
        base::Buf::of_static("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"));
    for (std::string_view rest = input; !rest.empty();) {
      const std::size_t size =
          cut ? std::min<std::size_t>(rest.size(), 1 + rng.below(most)) : rest.size();
      codec->receive(base::Buf::heap_copy(rest.substr(0, size)));
      rest.remove_prefix(size);
    }
    require(seen.messages.size() == 1 && seen.messages[0].body == want.body);
    const Message& m = seen.messages[0];
    switch (want.verdict) {
      case Chunks::Verdict::kMore:
        require(!m.ended && !m.reset);
        break;
      case Chunks::Verdict::kBad:
        require(!m.ended && m.reset && seen.closed);
        break;
      case Chunks::Verdict::kTrailers:
        break;  // their lines are read as those of a head
    }
  }
}

}  // namespace steelyard::http::testing
