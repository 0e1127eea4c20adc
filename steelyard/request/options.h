// What the configuration says about one route: whom it matches, where it leads, how long things may
// take, how often an exchange may be tried again.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>

#include "steelyard/base/time.h"
#include "steelyard/schema/field.h"

namespace steelyard::request {

struct MatchOptions {
  std::string host;        // empty: any
  std::string path = "/";  // a prefix, on segment boundaries
  static constexpr auto fields() {
    return std::tuple{
        schema::field("host", &MatchOptions::host,
                      "Host of the request: a name, or `*.example.com` for everything below it; "
                      "empty matches any."),
        schema::field("path", &MatchOptions::path,
                      "Path prefix, by whole segments: `/api` matches `/api` and `/api/x`, not "
                      "`/apix`.",
                      schema::starts_with("/"))};
  }
  friend bool operator==(const MatchOptions&, const MatchOptions&) = default;
};

struct TimeoutOptions {
  base::Duration connect = std::chrono::seconds(1);
  base::Duration head = std::chrono::seconds(10);
  base::Duration idle = std::chrono::seconds(60);
  std::optional<base::Duration> total;
  static constexpr auto fields() {
    using namespace std::chrono_literals;
    return std::tuple{
        schema::field("connect", &TimeoutOptions::connect, "Time to connect to a node.",
                      schema::between(1ms, 5min)),
        schema::field("head", &TimeoutOptions::head,
                      "Time from the end of the request to the head of the answer.",
                      schema::between(1ms, 24h)),
        schema::field("idle", &TimeoutOptions::idle,
                      "Time without a byte moving in a body, either way.",
                      schema::between(1ms, 24h)),
        schema::field("total", &TimeoutOptions::total,
                      "Time for the whole exchange, all attempts together; off by default.",
                      schema::between(1ms, 24h))};
  }
  friend bool operator==(const TimeoutOptions&, const TimeoutOptions&) = default;
};

struct RetryOptions {
  std::uint32_t attempts = 1;
  static constexpr auto fields() {
    return std::tuple{
        schema::field("attempts", &RetryOptions::attempts,
                      "More attempts on other nodes: after a failed connect for any request whose "
                      "body was not touched, after a broken connection for idempotent ones; never "
                      "once a byte of the answer went out.",
                      schema::between(0, 2))};
  }
  friend bool operator==(const RetryOptions&, const RetryOptions&) = default;
};

struct RouteOptions {
  MatchOptions match;
  std::string upstream;
  TimeoutOptions timeouts;
  RetryOptions retry;
  static constexpr auto fields() {
    return std::tuple{
        schema::field("match", &RouteOptions::match, "Which requests take this route."),
        schema::field("upstream", &RouteOptions::upstream, "Name of the upstream it leads to.",
                      schema::required(), schema::identifier()),
        schema::field("timeouts", &RouteOptions::timeouts, "How long each step may take."),
        schema::field("retry", &RouteOptions::retry, "When to try another node.")};
  }
  friend bool operator==(const RouteOptions&, const RouteOptions&) = default;
};

}  // namespace steelyard::request
