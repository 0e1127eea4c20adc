// The few cryptographic words the control side needs, on OpenSSL's libcrypto: SHA-256,
// constant-time comparison, random bytes. Never on the request path. Threads: any. Errors: none,
// but random bytes: a kernel that gives none ends the process.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace steelyard::io {

using Digest = std::array<std::uint8_t, 32>;

[[nodiscard]] Digest sha256(std::string_view text);
// Equal, in time that depends on the size only.
[[nodiscard]] bool equal_constant_time(const Digest& a, const Digest& b) noexcept;
// Fills `out` from the kernel's generator.
void random_bytes(std::span<std::uint8_t> out);
[[nodiscard]] std::uint64_t random_seed();

// Lower-case hexadecimal, and back (nothing when it is not 64 hexadecimal digits).
[[nodiscard]] std::string to_hex(std::span<const std::uint8_t> bytes);
[[nodiscard]] std::optional<Digest> digest_from_hex(std::string_view text);

// Of the library in use: "OpenSSL 3.0.15 3 Sep 2024".
[[nodiscard]] std::string crypto_version();

}  // namespace steelyard::io
