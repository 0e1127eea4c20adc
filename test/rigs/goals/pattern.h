// Bytes of bodies that both sides can check by position: a block of noise, again and again. Its
// size is a prime, so that no chunk or page falls on the same bytes twice.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace steelyard::rigs {

class Pattern {
 public:
  static constexpr std::size_t kBlock = 1'048'573;

  // The bytes from position `at` on, at most `most`, at least one.
  static std::string_view from(std::uint64_t at, std::size_t most) {
    const auto& all = block();
    const auto begin = static_cast<std::size_t>(at % kBlock);
    return std::string_view(all).substr(begin, std::min(most, kBlock - begin));
  }
  // Whether `bytes` are those from position `at` on.
  static bool holds(std::uint64_t at, std::string_view bytes) {
    while (!bytes.empty()) {
      const auto part = from(at, bytes.size());
      if (std::memcmp(part.data(), bytes.data(), part.size()) != 0) return false;
      bytes.remove_prefix(part.size());
      at += part.size();
    }
    return true;
  }

 private:
  static const std::string& block() {
    static const std::string made = [] {
      std::string out(kBlock, '\0');
      std::uint64_t state = 0x9e3779b97f4a7c15ULL;
      for (char& c : out) {
        state = state * 6364136223846793005ULL + 1442695040888963407ULL;
        c = static_cast<char>(state >> 56);
      }
      return out;
    }();
    return made;
  }
};

}  // namespace steelyard::rigs
