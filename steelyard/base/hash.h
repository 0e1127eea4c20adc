// Hashes that place keys: the same on every platform and in every version, since where a key goes
// hangs on them. Not for secrets.
//
// xxh3 and xxh64 are the XXH3_64bits and XXH64 of xxHash; murmur3 the first half of
// MurmurHash3_x64_128; fnv1a the 64-bit FNV-1a; crc32 the reflected one of IEEE 802.3 (zlib's); md5
// RFC 1321. Sources of test values: their authors' own. Cost: O(length); xxh3 by the word, the
// others by the byte or slower. Pure; no allocation.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace steelyard::base {

[[nodiscard]] std::uint64_t xxh3(std::string_view text, std::uint64_t seed = 0) noexcept;
[[nodiscard]] std::uint64_t xxh64(std::string_view text, std::uint64_t seed = 0) noexcept;
[[nodiscard]] std::uint64_t murmur3(std::string_view text, std::uint32_t seed = 0) noexcept;
[[nodiscard]] std::uint64_t fnv1a(std::string_view text) noexcept;

// Of `text` behind what `before` is the CRC of: crc32(b, crc32(a)) is the CRC of a and b.
[[nodiscard]] std::uint32_t crc32(std::string_view text, std::uint32_t before = 0) noexcept;

[[nodiscard]] std::array<std::uint8_t, 16> md5(std::string_view text) noexcept;

}  // namespace steelyard::base
