// Result<T>: a value or an Error, named like std::expected so that it can become an alias for it.
//
// An Error knows enough to act on: a code, where it came from, whether the same work may be tried
// again, and a text for people. The retry rule reads `origin` and `retry_safe` and nothing else.
// Cost: an Error without text allocates nothing.
#pragma once

#include <cassert>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace steelyard::base {

enum class Code : std::uint8_t {
  kUnknown,
  kInvalid,      // input that can never be right
  kNotFound,     // what was named does not exist
  kConflict,     // right in itself, but not now (duplicate, locked, stale version)
  kRefused,      // connection refused
  kReset,        // connection reset, or closed in the middle
  kUnreachable,  // no route, network down, address not available
  kTimeout,      // a deadline passed
  kProtocol,     // the peer broke the protocol
  kLimit,        // one of our limits was reached
  kDenied,       // permission
  kIo,           // any other failure of a system call
  kCancelled,    // we gave it up ourselves
};
[[nodiscard]] std::string_view to_text(Code code) noexcept;

enum class Origin : std::uint8_t { kUnknown, kClient, kNode, kUs, kOperator };
[[nodiscard]] std::string_view to_text(Origin origin) noexcept;

struct Error {
  Code code = Code::kUnknown;
  Origin origin = Origin::kUnknown;
  bool retry_safe = false;  // nothing of the work was done: it may be done again elsewhere
  std::string text;         // for people; may be empty, then describe() gives the code's words

  [[nodiscard]] std::string describe() const {
    return text.empty() ? std::string(to_text(code)) : text;
  }
};

template <typename T>
class [[nodiscard]] Result {
 public:
  using value_type = T;
  Result(T value)
      : state_(std::in_place_index<0>, std::move(value)) {}  // NOLINT: implicit like std::expected
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT

  [[nodiscard]] bool has_value() const noexcept { return state_.index() == 0; }
  explicit operator bool() const noexcept { return has_value(); }
  [[nodiscard]] T& value() & { return std::get<0>(state_); }
  [[nodiscard]] const T& value() const& { return std::get<0>(state_); }
  [[nodiscard]] T&& value() && { return std::get<0>(std::move(state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  [[nodiscard]] const Error& error() const& { return std::get<1>(state_); }
  [[nodiscard]] Error&& error() && { return std::get<1>(std::move(state_)); }
  [[nodiscard]] T value_or(T other) const& { return has_value() ? value() : std::move(other); }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  using value_type = void;
  Result() = default;
  Result(Error error) : error_(std::move(error)), ok_(false) {}  // NOLINT

  [[nodiscard]] bool has_value() const noexcept { return ok_; }
  explicit operator bool() const noexcept { return ok_; }
  [[nodiscard]] const Error& error() const& {
    assert(!ok_);
    return error_;
  }

 private:
  Error error_;
  bool ok_ = true;
};

}  // namespace steelyard::base
