// ForwardedFor: the entries of a request's X-Forwarded-For, from the right: the nearest hop first,
// over all its lines. Whoever walks it stops at the first entry that he does not trust, for what
// stands left of that one was said by somebody unknown.
//
// Views into the head. Cost: no allocation; a few ns a byte. Pure.
#pragma once

#include <span>
#include <string_view>

#include "steelyard/base/address.h"
#include "steelyard/http/head.h"

namespace steelyard::http {

class ForwardedFor {
 public:
  explicit ForwardedFor(const Head& head) noexcept : fields_(head.fields) {}
  // The next entry to the left, without blanks; it may be empty. False: there is none.
  bool next(std::string_view& entry) noexcept;

 private:
  std::span<const Field> fields_;  // those not looked at
  std::string_view rest_;          // of the line that is looked at
  bool in_line_ = false;
};

// The address of an entry: IPv4 or IPv6, with or without brackets, port and quotes; port 0, and
// IPv4 written as IPv6 is IPv4. Not valid: it has none, as `unknown`, `_hidden`, or one with a
// zone, which means nothing to other hosts.
[[nodiscard]] base::Address forwarded_address(std::string_view entry) noexcept;

// An IPv4 address that a socket for both families writes as IPv6 (`::ffff:10.0.0.1`) as IPv4.
[[nodiscard]] base::Address unmapped(const base::Address& address) noexcept;

}  // namespace steelyard::http
