// Window: how far the source of a body may run ahead of whoever takes it.
//
// A stream begins with kInitialCredit bytes of credit; what was passed on is owed to the source and
// given back when there is room. While the other side takes all at once the window doubles, up to
// kWidest: fewer, larger receives cost less. When bytes wait for it, or memory is short, the window
// shrinks to where it began, and all windows of a worker together are at most kMostWidened wider
// than they began: what slow readers make us hold stays bounded.
// Cost: a few comparisons. One thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "steelyard/http/codec.h"

namespace steelyard::proxy {

class Window {
 public:
  static constexpr std::size_t kWidest = std::size_t{256} << 10;

  static constexpr std::size_t kMostWidened = std::size_t{4} << 20;

  // By how much the windows of a worker are wider than they began.
  using Widened = std::size_t;

  enum class Taker : std::uint8_t {
    kUnknown,  // nothing was sent to it since
    kQuick,    // has taken all there was
    kSlow,     // something waits for it
  };

  void passed(std::size_t bytes) noexcept { owed_ += bytes; }
  [[nodiscard]] bool owes() const noexcept { return owed_ > 0; }
  // The credit to grant now.
  [[nodiscard]] std::size_t give_back(Taker taker, Widened& widened) noexcept {
    const std::size_t credit = std::exchange(owed_, 0);
    if (taker == Taker::kQuick && credit * 2 >= width_ && width_ < kWidest &&
        widened + width_ <= kMostWidened) {
      const std::size_t more = width_;
      widened += more;
      width_ += more;
      return credit + more;
    }
    if (taker == Taker::kSlow) {
      const std::size_t less = std::min(credit, width_ - http::kInitialCredit);
      widened -= less;
      width_ -= less;
      return credit - less;
    }
    return credit;
  }
  // At its end, so that others may be wide.
  void close(Widened& widened) noexcept {
    widened -= width_ - http::kInitialCredit;
    *this = {};
  }

 private:
  std::size_t owed_ = 0;
  std::size_t width_ = http::kInitialCredit;
};

}  // namespace steelyard::proxy
