// Limits of the control side's HTTP server.
#pragma once

#include <chrono>
#include <cstdint>
#include <tuple>

#include "steelyard/base/time.h"
#include "steelyard/schema/field.h"

namespace steelyard::wire {

struct ServerOptions {
  std::uint32_t max_connections = 64;
  base::Duration head_timeout = std::chrono::seconds(10);
  base::Duration idle_timeout = std::chrono::seconds(60);
  std::uint32_t max_body = 256 * 1024;

  static constexpr auto fields() {
    using std::chrono::hours;
    using std::chrono::milliseconds;
    return std::tuple{
        schema::field("max_connections", &ServerOptions::max_connections,
                      "Open connections at a time; more wait to be accepted.",
                      schema::between(1U, 65536U)),
        schema::field("head_timeout", &ServerOptions::head_timeout,
                      "Time for a whole request to arrive.",
                      schema::between(milliseconds(10), hours(1))),
        schema::field("idle_timeout", &ServerOptions::idle_timeout,
                      "A connection without a request, or whose reader makes no progress, is "
                      "closed after this.",
                      schema::between(milliseconds(10), hours(24))),
        schema::field("max_body", &ServerOptions::max_body, "Largest body of a request, in bytes.",
                      schema::between(1U, 64U << 20))};
  }
};

}  // namespace steelyard::wire
