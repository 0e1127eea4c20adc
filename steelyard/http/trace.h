// W3C trace context: `traceparent: 00-<32 hex trace id>-<16 hex parent id>-<2 hex flags>`.
//
// A balancer that does not trace passes traceparent and tracestate on as they came. One that does
// continues the client's trace under a parent id of its own (same trace id, the sampled flag kept,
// tracestate passed on), or begins a new one when there is none or it is malformed (then tracestate
// is dropped, for it belongs to a trace that nobody can name). Pure: random bytes are arguments.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "steelyard/http/head.h"

namespace steelyard::http {

struct TraceParent {
  std::string_view trace_id;   // 32 hex digits, not all zero
  std::string_view parent_id;  // 16 hex digits, not all zero
  bool sampled = false;
};

// Strict: lower case, nothing around it, version 00 exactly as long as it is; of a later version
// (but ff) the first four parts, and more only behind a dash.
[[nodiscard]] std::optional<TraceParent> parse_traceparent(std::string_view value) noexcept;

struct TraceRandom {  // fresh for every request; not all zero (chance 2^-64, and then it is made 1)
  std::array<std::uint8_t, 16> trace_id{};
  std::array<std::uint8_t, 8> parent_id{};
};

class Trace {
 public:
  // For the request that is sent on. `sample` is the flag of a trace that begins here. Several
  // traceparent fields are malformed.
  Trace(const Head& head, const TraceRandom& random, bool sample) noexcept;

  [[nodiscard]] std::string_view traceparent() const noexcept { return {text_.data(), kSize}; }
  [[nodiscard]] std::string_view trace_id() const noexcept { return traceparent().substr(3, 32); }
  [[nodiscard]] std::string_view parent_id() const noexcept { return traceparent().substr(36, 16); }
  [[nodiscard]] bool sampled() const noexcept { return text_[kSize - 1] == '1'; }
  [[nodiscard]] bool continued() const noexcept { return continued_; }  // false: it begins here

 private:
  static constexpr std::size_t kSize = 55;
  std::array<char, kSize> text_;
  bool continued_ = false;
};

}  // namespace steelyard::http
