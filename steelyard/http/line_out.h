// LineOut: a line that grows in a buffer of fixed size, for the access log. What does not fit is
// left out whole (a word, an escaped byte), and `cut` says so; after that nothing more is taken.
#pragma once

#include <charconv>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace steelyard::http {

class LineOut {
 public:
  // The last `reserve` bytes are for `finish`.
  LineOut(std::span<char> out, std::size_t reserve) noexcept
      : begin_(out.data()), at_(out.data()), end_(out.data() + out.size() - reserve) {}

  [[nodiscard]] bool cut() const noexcept { return cut_; }
  void set_cut() noexcept { cut_ = true; }
  [[nodiscard]] std::size_t room() const noexcept {
    return cut_ || at_ > end_ ? 0 : static_cast<std::size_t>(end_ - at_);
  }
  LineOut& put(std::string_view text) noexcept {
    if (text.size() > room()) {
      cut_ = true;
    } else if (!text.empty()) {
      std::memcpy(at_, text.data(), text.size());
      at_ += text.size();
    }
    return *this;
  }
  // As much of it as there is room for.
  LineOut& put_start(std::string_view text) noexcept {
    if (text.size() <= room()) return put(text);
    put(text.substr(0, room()));
    cut_ = true;
    return *this;
  }
  LineOut& number(std::uint64_t value) noexcept {
    char digits[20];
    const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
    return put({digits, static_cast<std::size_t>(end - digits)});
  }
  // At least `width` digits, zeros in front; width at most 20.
  LineOut& padded(std::uint64_t value, std::size_t width) noexcept {
    char digits[20];
    const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
    const auto size = static_cast<std::size_t>(end - digits);
    if (size < width) put(std::string_view("00000000000000000000", width - size));
    return put({digits, size});
  }
  // value / 1000, with three decimals.
  LineOut& thousandths(std::uint64_t value) noexcept {
    return number(value / 1000).put(".").padded(value % 1000, 3);
  }
  // Visible ASCII as it is, the rest, `"` and `\` as \xHH.
  LineOut& text(std::string_view bytes) noexcept;
  // As the inside of a JSON string: valid UTF-8, nothing that steers a terminal.
  LineOut& json(std::string_view bytes) noexcept;

  // One byte of the reserve, whatever was cut.
  void force(char c) noexcept { *at_++ = c; }
  // Into the reserve, whatever was cut.
  std::size_t finish(std::string_view tail) noexcept {
    std::memcpy(at_, tail.data(), tail.size());
    return static_cast<std::size_t>(at_ - begin_) + tail.size();
  }

 private:
  char* begin_;
  char* at_;
  char* end_;
  bool cut_ = false;
};

}  // namespace steelyard::http
