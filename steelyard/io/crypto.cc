#include "steelyard/io/crypto.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <sys/random.h>

namespace steelyard::io {

Digest sha256(std::string_view text) {
  Digest out{};
  unsigned size = 0;
  if (EVP_Digest(text.data(), text.size(), out.data(), &size, EVP_sha256(), nullptr) != 1)
    std::abort();
  return out;
}

bool equal_constant_time(const Digest& a, const Digest& b) noexcept {
  return CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

void random_bytes(std::span<std::uint8_t> out) {
  while (!out.empty()) {
    const auto got = ::getrandom(out.data(), out.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) std::abort();
    out = out.subspan(static_cast<std::size_t>(got));
  }
}

std::uint64_t random_seed() {
  std::array<std::uint8_t, 8> bytes{};
  random_bytes(bytes);
  std::uint64_t seed = 0;
  std::memcpy(&seed, bytes.data(), sizeof seed);
  return seed;
}

std::string to_hex(std::span<const std::uint8_t> bytes) {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  out.reserve(bytes.size() * 2);
  for (const auto byte : bytes) {
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
  return out;
}

std::optional<Digest> digest_from_hex(std::string_view text) {
  Digest out{};
  if (text.size() != out.size() * 2) return std::nullopt;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    unsigned value = 0;
    if (c >= '0' && c <= '9') {
      value = static_cast<unsigned>(c - '0');
    } else if (c >= 'a' && c <= 'f') {
      value = static_cast<unsigned>(c - 'a') + 10;
    } else if (c >= 'A' && c <= 'F') {
      value = static_cast<unsigned>(c - 'A') + 10;
    } else {
      return std::nullopt;
    }
    out[i / 2] = static_cast<std::uint8_t>(out[i / 2] << 4 | value);
  }
  return out;
}

std::string crypto_version() { return OpenSSL_version(OPENSSL_VERSION); }

}  // namespace steelyard::io
