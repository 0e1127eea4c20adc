// KeySource: which part of a request is its key, so that requests with one key are treated alike:
//   client           the address of the client behind trusted proxies; `client/24/56` is its
//   network,
//                    the first 24 bits of an IPv4 address and the first 56 of an IPv6 one, since
//                    clients behind one NAT or in one household change between addresses
//   path, uri, host  the path as sent; with its query; host and port as sent
//   header:NAME, cookie:NAME, query:NAME
//   random           none
//
// The hash is FNV-1a, finished by splitmix64's mixer: the same on every platform and in every
// version, since a share of traffic hangs on it. Pickers that are keyed hash the text their own
// way. Not for secrets. Cost: a look-up and O(length).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "steelyard/base/result.h"
#include "steelyard/request/facts.h"

namespace steelyard::request {

[[nodiscard]] std::uint64_t hash_of(std::string_view text) noexcept;

class KeySource {
 public:
  using Room = std::array<char, 46>;

  KeySource() = default;  // random
  static base::Result<KeySource> parse(std::string_view text);

  [[nodiscard]] bool random() const noexcept { return kind_ == Kind::kRandom; }
  // Nothing: the request has none, or an empty one. Views the request's head, or `room`.
  [[nodiscard]] std::optional<std::string_view> text(const Facts& facts, Room& room) const noexcept;
  [[nodiscard]] std::optional<std::uint64_t> key(const Facts& facts) const noexcept;  // its hash

 private:
  enum class Kind : std::uint8_t { kRandom, kClient, kPath, kUri, kHost, kHeader, kCookie, kQuery };
  static base::Result<KeySource> networks(std::string_view text);

  Kind kind_ = Kind::kRandom;
  std::uint8_t bits4_ = 32;
  std::uint8_t bits6_ = 128;
  std::string name_;
};

}  // namespace steelyard::request
