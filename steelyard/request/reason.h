// Why an exchange got an answer of ours, or none: the status it stands for, its one word for
// metrics and the sentence that the client reads.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace steelyard::request {

enum class Reason : std::uint8_t {
  kNone,
  kBadRequest,
  kClientTimeout,
  kNoRoute,
  kNotOffered,
  kNoUpstream,
  kNoNode,
  kAllBusy,
  kOurLimit,
  kConnectFailed,
  kConnectTimeout,
  kBroken,
  kBadAnswer,
  kHeadTimeout,
  kIdleTimeout,
  kTotalTimeout,
};
inline constexpr std::size_t kReasons = 16;

struct ReasonText {
  std::uint16_t status;
  std::string_view word;
  std::string_view sentence;
};

[[nodiscard]] constexpr ReasonText describe(Reason reason) noexcept {
  constexpr std::array<ReasonText, kReasons> texts{{
      {200, "none", ""},
      {400, "bad_request", "the request is malformed"},
      {408, "client_timeout", "the request did not arrive in time"},
      {404, "no_route", "no route matches this host and path"},
      {501, "not_offered", "tunnels are not offered"},
      {503, "no_upstream", "the upstream no longer exists"},
      {503, "no_node", "no usable node in the upstream"},
      {503, "all_busy", "every usable node is at its limit"},
      {503, "our_limit", "the balancer is at one of its own limits"},
      {502, "connect_failed", "no connection to the node"},
      {504, "connect_timeout", "connecting to the node took too long"},
      {502, "broken", "the node closed the connection before it answered"},
      {502, "bad_answer", "the node's answer is malformed"},
      {504, "head_timeout", "the node did not answer in time"},
      {504, "idle_timeout", "the node stopped in the middle"},
      {504, "total_timeout", "the time for the whole exchange is over"},
  }};
  return texts[static_cast<std::size_t>(reason)];
}

}  // namespace steelyard::request
