#include "test/rigs/differential/inputs.h"

#include <array>

#include "test/rigs/lib/cases.h"

namespace steelyard::rigs {

Inputs::Inputs(std::uint64_t seed, const std::string& cases) : rng_(seed) {
  for (const auto& row : load_cases(cases, "request")) {
    if (row.contains("raw")) seeds_.push_back(raw_of(row));
  }
  for (const auto* const one : {"GET / HTTP/1.1\r\nHost: a.example\r\n\r\n",
                                "GET /a?b=c HTTP/1.1\r\nHost: a\r\nAccept: */*\r\n\r\n",
                                "POST /p HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello",
                                "POST /c HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: "
                                "chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
                                "GET / HTTP/1.0\r\nHost: a\r\nConnection: keep-alive\r\n\r\n"}) {
    seeds_.insert(seeds_.end(), 20, one);
  }
}
std::string Inputs::next() {
  auto text = seeds_[rng_.below(seeds_.size())];
  for (auto left = rng_.below(4); left > 0; --left) mutate(text);
  return text;
}

void Inputs::mutate(std::string& text) {
  static const std::array<std::string, 26> kWords{"\r\n",
                                                  "\n",
                                                  "\r",
                                                  " ",
                                                  "\t",
                                                  ":",
                                                  ",",
                                                  ";",
                                                  std::string(1, '\0'),
                                                  "\x0b",
                                                  "\x80",
                                                  "chunked",
                                                  "Content-Length: 5\r\n",
                                                  "Content-Length: 0\r\n",
                                                  "Transfer-Encoding: chunked\r\n",
                                                  "Transfer-Encoding: identity\r\n",
                                                  "Connection: close\r\n",
                                                  "Connection: Content-Length\r\n",
                                                  "Host: b\r\n",
                                                  "X: y\r\n",
                                                  " folded\r\n",
                                                  "0\r\n\r\n",
                                                  "5",
                                                  "HTTP/1.0",
                                                  "%00",
                                                  "#"};
  const auto at = static_cast<std::size_t>(rng_.below(text.size() + 1));
  const auto line_at = text.find("\r\n", at);
  switch (rng_.below(6)) {
    case 0:
      text.insert(at, kWords[rng_.below(kWords.size())]);
      return;
    case 1:
      if (at < text.size()) text.erase(at, 1 + rng_.below(3));
      return;
    case 2:
      if (at < text.size()) text[at] = static_cast<char>(rng_.below(256));
      return;
    case 3:  // a field more
      if (line_at != text.npos) text.insert(line_at + 2, kWords[11 + rng_.below(9)]);
      return;
    case 4: {  // a line twice
      const auto end = line_at == text.npos ? line_at : text.find("\r\n", line_at + 2);
      if (end != text.npos) text.insert(end + 2, text.substr(line_at + 2, end - line_at));
      return;
    }
    default:
      if (at < text.size()) text[at] = static_cast<char>(text[at] ^ 0x20);
  }
}

}  // namespace steelyard::rigs
