// AccessFacts: what the access log is told of one exchange at its end, or of a request that was
// refused before it was one. The worker copies them, unformatted, into its ring; the writer's
// thread makes the line (access_log.h).
//
// Views need to live during the call only. An optional that is empty, an address that is not valid
// and empty text mean "not known".
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "steelyard/base/address.h"
#include "steelyard/base/time.h"
#include "steelyard/http/head.h"

namespace steelyard::proxy {

struct AccessFacts {
  base::TimePoint began{};  // first byte of the request
  base::TimePoint ended{};
  base::Address client, listener, node;
  // The request's head: request line, fields, empty line; as nodes get it, or, of a request that
  // was refused, as it came and as far as it came. Only the first kMostHead bytes are kept.
  std::string_view head;
  std::string_view answer_head;  // in the same form, and cut in the same way; empty: not wanted
  std::optional<http::Version> version = http::Version::k11;  // the client's; else as `head` says
  std::uint16_t status = 0;                                   // what the client got; 499: nothing
  std::uint64_t bytes_in = 0;                                 // of the request, head included
  std::uint64_t bytes_out = 0;                                // of the answer, head included
  std::uint64_t body_bytes_out = 0;
  // Attempts before the last one, in their order; status 0: no answer came.
  struct Tried {
    base::Address node;
    std::uint16_t status = 0;
  };
  std::array<Tried, 2> earlier{};
  std::uint32_t earlier_count = 0;
  // The last attempt.
  std::string_view upstream, node_name;
  std::optional<std::uint16_t> node_status;
  std::optional<base::Duration> connect_time, head_time, answer_time;  // from the attempt's start
  std::uint32_t tries = 0;
  std::string_view
      pick_reason;  // the picker, and what led to it: `+retry` `+hedge` `+queue` `+panic`
  // Why the answer is one of ours, or did not come to its end; empty: it is the node's.
  std::string_view reason;
  std::string_view detail;  // of a request that was refused: what was wrong with it

  static constexpr std::uint16_t kNothing = 499;  // as Nginx says it
  static constexpr std::size_t kMostHead = std::size_t{8} << 10;

  // Bytes that `pack` needs.
  [[nodiscard]] std::size_t packed_size() const noexcept;
  void pack(std::span<std::byte> to) const noexcept;  // REQUIRES: to.size() == packed_size()
  // The other way: views into `from`, which `pack` wrote.
  [[nodiscard]] static AccessFacts unpack(std::span<const std::byte> from) noexcept;
};

}  // namespace steelyard::proxy
