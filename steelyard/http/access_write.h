// What access_log.cc and access_write.cc share: the variables by number.
#pragma once

#include <cstddef>
#include <cstdint>

namespace steelyard::http::access {

enum class Name : std::uint8_t {
  kArg,
  kHttp,
  kSentHttp,
  kArgs,
  kAttempts,
  kBodyBytesSent,
  kBytesSent,
  kDetail,
  kHost,
  kMsec,
  kNode,
  kPickReason,
  kQueryString,
  kReason,
  kRemoteAddr,
  kRemotePort,
  kRemoteUser,
  kRequest,
  kRequestId,
  kRequestLength,
  kRequestMethod,
  kRequestTime,
  kRequestUri,
  kScheme,
  kServerAddr,
  kServerProtocol,
  kSslCipher,
  kSslProtocol,
  kStatus,
  kTimeIso8601,
  kTimeLocal,
  kTraceId,
  kTries,
  kUpstream,
  kUpstreamAddr,
  kUpstreamConnectTime,
  kUpstreamHeaderTime,
  kUpstreamResponseTime,
  kUpstreamStatus,
  kUri,
};
inline constexpr std::size_t kVariables = static_cast<std::size_t>(Name::kUri) + 1;

}  // namespace steelyard::http::access
