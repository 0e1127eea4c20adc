// Why a request got an answer of ours, or none: the status it stands for, its one word for metrics
// and the access log, and the sentence that the client reads.
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
  kQueueFull,
  kQueueTimeout,
  kLineTooLong,
  kHeadTooLarge,
  kBodyTooLarge,
  kOverload,
  kAnswerTooLarge,
  kMisdirected,
  kNoHopLeft,
  kClientGone,  // the last: no answer of ours has it
};
inline constexpr std::size_t kReasons = 26;

struct ReasonText {
  std::uint16_t status;
  std::string_view word;
  std::string_view sentence;
  std::uint16_t retry_after = 0;  // seconds, told to the client; 0: nothing is told
};

[[nodiscard]] constexpr ReasonText describe(Reason reason) noexcept {
  constexpr std::array<ReasonText, kReasons> texts{{
      {200, "none", ""},
      {400, "bad_request", "the request is malformed"},
      {408, "client_timeout", "the request did not arrive in time"},
      {404, "no_route", "no route matches this host and path"},
      {501, "not_offered", "tunnels are not offered"},
      {503, "no_upstream", "the upstream no longer exists"},
      {503, "no_node", "no usable node in the upstream", 2},
      {503, "all_busy", "every usable node is at its limit", 1},
      {503, "our_limit", "the balancer is at one of its own limits", 1},
      {502, "connect_failed", "no connection to the node"},
      {504, "connect_timeout", "connecting to the node took too long"},
      {502, "broken", "the node closed the connection before it answered"},
      {502, "bad_answer", "the node's answer is malformed"},
      {504, "head_timeout", "the node did not answer in time"},
      {504, "idle_timeout", "the node stopped in the middle"},
      {504, "total_timeout", "the time for the whole exchange is over"},
      {503, "queue_full", "every usable node is at its limit, and enough wait already", 1},
      {503, "queue_timeout", "every usable node stayed at its limit", 1},
      {414, "line_too_long", "the request line is too long"},
      {431, "head_too_large", "the head of the request is too large"},
      {413, "body_too_large", "the body of the request is too large"},
      {503, "overload", "the balancer is at one of its own limits", 1},
      {502, "answer_too_large", "the head of the node's answer is too large"},
      {421, "misdirected", "a target of https on a connection without TLS"},
      {200, "no_hop_left", "Max-Forwards lets no other server see the request"},
      {499, "client_gone", "the client left before the end"},
  }};
  return texts[static_cast<std::size_t>(reason)];
}

}  // namespace steelyard::request
