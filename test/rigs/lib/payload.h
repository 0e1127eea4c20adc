// Bytes that follow from a number, and their digest: who has the nonce can make and check a body.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace steelyard::rigs {

// FNV-1a, 64 bits, of a stream.
class Digest {
 public:
  void add(std::string_view bytes) {
    for (const char c : bytes) state_ = (state_ ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
    size_ += bytes.size();
  }
  [[nodiscard]] std::uint64_t value() const { return state_; }
  [[nodiscard]] std::uint64_t size() const { return size_; }

 private:
  std::uint64_t state_ = 0xcbf29ce484222325ULL, size_ = 0;
};

inline std::string payload(std::uint64_t nonce, std::size_t size) {
  std::string out(size, '\0');
  for (std::size_t i = 0; i < size; ++i) {
    if (i % 32 == 0) nonce = nonce * 6364136223846793005ULL + 1442695040888963407ULL;
    out[i] = static_cast<char>('a' + ((nonce >> (i % 32 + 24)) & 15U));
  }
  return out;
}

inline std::uint64_t digest_of(std::string_view bytes) {
  Digest out;
  out.add(bytes);
  return out.value();
}

// What the answer's body is made of, so that it is not the request's.
inline std::uint64_t answer_nonce(std::uint64_t nonce) { return nonce ^ 0x5a5a5a5a5a5a5a5aULL; }

}  // namespace steelyard::rigs
