// CreditMeter: what an HTTP/1 codec lets its transport deliver, so that the body bytes in front of
// the exchange stay within what it granted, while chunk framing and heads never starve.
//
// Wire bytes granted but not received (`outstanding`) are kept up to the stream's credit, in few
// calls: topped up when less than half is left. At most kMost are outstanding, which bounds what
// pipelining can pile up.
#pragma once

#include <algorithm>
#include <cstddef>

#include "steelyard/http/codec.h"

namespace steelyard::http {

class CreditMeter {
 public:
  static constexpr std::size_t kMost = std::size_t{256} << 10;

  void begin() noexcept { credit_ = kInitialCredit; }
  void grant(std::size_t bytes) noexcept { credit_ += bytes; }
  void received(std::size_t bytes) noexcept { outstanding_ -= std::min(outstanding_, bytes); }
  void delivered(std::size_t bytes) noexcept { credit_ -= std::min(credit_, bytes); }
  // What to grant the transport now; 0: nothing.
  [[nodiscard]] std::size_t top_up() noexcept {
    const std::size_t wanted = std::min(credit_, kMost);
    if (outstanding_ * 2 >= wanted) return 0;
    const std::size_t more = wanted - outstanding_;
    outstanding_ = wanted;
    return more;
  }

 private:
  std::size_t credit_ = kInitialCredit;
  std::size_t outstanding_ = 0;
};

}  // namespace steelyard::http
