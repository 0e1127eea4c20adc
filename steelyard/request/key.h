// KeySource: which part of a request stands for who sent it, so that the same sender is treated
// alike: `client`, `header:NAME`, `cookie:NAME`, `query:NAME`; `random` is none.
//
// The hash is FNV-1a, finished by splitmix64's mixer: the same on every platform and in every
// version, since a share of traffic hangs on it. Not for secrets. Cost: a look-up and O(length).
#pragma once

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
  KeySource() = default;  // random
  static base::Result<KeySource> parse(std::string_view text);

  [[nodiscard]] bool random() const noexcept { return kind_ == Kind::kRandom; }
  // Nothing: the request has none.
  [[nodiscard]] std::optional<std::uint64_t> key(const Facts& facts) const noexcept;

 private:
  enum class Kind : std::uint8_t { kRandom, kClient, kHeader, kCookie, kQuery };
  Kind kind_ = Kind::kRandom;
  std::string name_;
};

}  // namespace steelyard::request
