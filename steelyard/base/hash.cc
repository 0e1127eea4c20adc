#include "steelyard/base/hash.h"

#define XXH_INLINE_ALL
#include <bit>
#include <cstring>
#include <utility>
#include <xxhash.h>

namespace steelyard::base {
namespace {

constexpr std::array<std::uint32_t, 256> make_crc_table() noexcept {
  std::array<std::uint32_t, 256> out{};
  for (std::uint32_t i = 0; i < out.size(); ++i) {
    std::uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1) != 0 ? 0xedb88320U : 0U);
    out[i] = value;
  }
  return out;
}
constexpr auto kCrcTable = make_crc_table();

std::uint64_t read64(const char* from) noexcept {
  std::uint64_t out = 0;
  std::memcpy(&out, from, sizeof out);
  return out;
}

constexpr std::uint64_t murmur_mix(std::uint64_t k) noexcept {
  k = (k ^ (k >> 33)) * 0xff51afd7ed558ccdULL;
  k = (k ^ (k >> 33)) * 0xc4ceb9fe1a85ec53ULL;
  return k ^ (k >> 33);
}

// RFC 1321: the sines of 1 … 64 as whole numbers, and how far each step turns.
constexpr std::array<std::uint32_t, 64> kSines{
    0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a, 0xa8304613, 0xfd469501,
    0x698098d8, 0x8b44f7af, 0xffff5bb1, 0x895cd7be, 0x6b901122, 0xfd987193, 0xa679438e, 0x49b40821,
    0xf61e2562, 0xc040b340, 0x265e5a51, 0xe9b6c7aa, 0xd62f105d, 0x02441453, 0xd8a1e681, 0xe7d3fbc8,
    0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed, 0xa9e3e905, 0xfcefa3f8, 0x676f02d9, 0x8d2a4c8a,
    0xfffa3942, 0x8771f681, 0x6d9d6122, 0xfde5380c, 0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70,
    0x289b7ec6, 0xeaa127fa, 0xd4ef3085, 0x04881d05, 0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665,
    0xf4292244, 0x432aff97, 0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92, 0xffeff47d, 0x85845dd1,
    0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1, 0xf7537e82, 0xbd3af235, 0x2ad7d2bb, 0xeb86d391};
constexpr std::array<int, 16> kTurns{7, 12, 17, 22, 5, 9, 14, 20, 4, 11, 16, 23, 6, 10, 15, 21};

using Md5State = std::array<std::uint32_t, 4>;

void md5_block(const char* block, Md5State& state) noexcept {
  std::array<std::uint32_t, 16> words;
  std::memcpy(words.data(), block, sizeof words);
  auto [a, b, c, d] = state;
  for (unsigned i = 0; i < 64; ++i) {
    std::uint32_t mixed = 0;
    unsigned at = 0;
    if (i < 16) {
      mixed = (b & c) | (~b & d), at = i;
    } else if (i < 32) {
      mixed = (d & b) | (~d & c), at = (5 * i + 1) % 16;
    } else if (i < 48) {
      mixed = b ^ c ^ d, at = (3 * i + 5) % 16;
    } else {
      mixed = c ^ (b | ~d), at = 7 * i % 16;
    }
    const std::uint32_t turned =
        std::rotl(a + mixed + kSines[i] + words[at], kTurns[i / 16 * 4 + i % 4]);
    a = std::exchange(d, std::exchange(c, std::exchange(b, b + turned)));
  }
  state[0] += a, state[1] += b, state[2] += c, state[3] += d;
}

}  // namespace

static_assert(std::endian::native == std::endian::little);

std::uint64_t xxh3(std::string_view text, std::uint64_t seed) noexcept {
  return XXH3_64bits_withSeed(text.data(), text.size(), seed);
}

std::uint64_t xxh64(std::string_view text, std::uint64_t seed) noexcept {
  return XXH64(text.data(), text.size(), seed);
}

std::uint64_t murmur3(std::string_view text, std::uint32_t seed) noexcept {
  constexpr std::uint64_t c1 = 0x87c37b91114253d5ULL;
  constexpr std::uint64_t c2 = 0x4cf5ad432745937fULL;
  std::uint64_t h1 = seed;
  std::uint64_t h2 = seed;
  const auto first = [&](std::uint64_t k) { h1 ^= std::rotl(k * c1, 31) * c2; };
  const auto second = [&](std::uint64_t k) { h2 ^= std::rotl(k * c2, 33) * c1; };
  std::string_view rest = text;
  for (; rest.size() >= 16; rest.remove_prefix(16)) {
    first(read64(rest.data()));
    h1 = (std::rotl(h1, 27) + h2) * 5 + 0x52dce729;
    second(read64(rest.data() + 8));
    h2 = (std::rotl(h2, 31) + h1) * 5 + 0x38495ab5;
  }
  std::array<char, 16> tail{};
  std::memcpy(tail.data(), rest.data(), rest.size());
  if (rest.size() > 8) second(read64(tail.data() + 8));
  if (!rest.empty()) first(read64(tail.data()));
  h1 ^= text.size();
  h2 ^= text.size();
  h1 += h2;
  h2 += h1;
  h1 = murmur_mix(h1);
  h2 = murmur_mix(h2);
  return h1 + h2;
}

std::uint64_t fnv1a(std::string_view text) noexcept {
  std::uint64_t out = 0xcbf29ce484222325ULL;
  for (const char c : text) out = (out ^ static_cast<std::uint8_t>(c)) * 0x100000001b3ULL;
  return out;
}

std::uint32_t crc32(std::string_view text, std::uint32_t before) noexcept {
  std::uint32_t out = ~before;
  for (const char c : text)
    out = kCrcTable[(out ^ static_cast<std::uint8_t>(c)) & 0xffU] ^ (out >> 8);
  return ~out;
}

std::array<std::uint8_t, 16> md5(std::string_view text) noexcept {
  Md5State state{0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};
  const std::uint64_t bits = std::uint64_t{text.size()} * 8;
  for (; text.size() >= 64; text.remove_prefix(64)) md5_block(text.data(), state);
  std::array<char, 128> last{};
  std::memcpy(last.data(), text.data(), text.size());
  last[text.size()] = '\x80';
  const std::size_t size = text.size() < 56 ? 64 : 128;
  std::memcpy(last.data() + size - sizeof bits, &bits, sizeof bits);
  for (std::size_t at = 0; at < size; at += 64) md5_block(last.data() + at, state);
  std::array<std::uint8_t, 16> out;
  std::memcpy(out.data(), state.data(), sizeof out);
  return out;
}

}  // namespace steelyard::base
