// Network: a set of addresses by their first bits: `10.0.0.0/8`, `2001:db8::/32`, or one address.
//
// Bits behind the prefix must be zero in the text, so that nobody takes `10.1.2.3/8` for something
// narrower. An IPv4 network holds no IPv6 addresses. Cost: O(16).
#pragma once

#include <string_view>

#include "steelyard/base/address.h"
#include "steelyard/base/result.h"

namespace steelyard::request {

class Network {
 public:
  static base::Result<Network> parse(std::string_view text);

  [[nodiscard]] bool holds(const base::Address& address) const noexcept;
  [[nodiscard]] bool holds(const Network& other) const noexcept;

 private:
  base::Address base_;
  unsigned bits_ = 0;
};

}  // namespace steelyard::request
