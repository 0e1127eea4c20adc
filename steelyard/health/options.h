// What decides whether a node is in service: its checks, its traffic, how long it stays out and how
// it comes back.
//
// Plain aggregates; probe reads `active` to know what to ask, Gate reads the rest. Defaults follow
// Envoy's outlier detection (5 in a row, 30 s, 300 s) and HAProxy's checks (rise 2, fall 3).
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>

#include "steelyard/base/time.h"
#include "steelyard/schema/field.h"

namespace steelyard::health {

// GET over HTTP: 2xx and 3xx pass, 503 means "not ready, wait", everything else fails.
struct HttpCheck {
  std::string path = "/health";
  std::string host;
  static constexpr auto fields() {
    return std::tuple{
        schema::field("path", &HttpCheck::path, "Path that is asked for.", schema::starts_with("/"),
                      schema::spelled(schema::Form::kTarget)),
        schema::field("host", &HttpCheck::host,
                      "Host header of the check; empty: the node's address.",
                      schema::spelled(schema::Form::kAuthority))};
  }
};

// A connection that opens passes.
struct TcpCheck {
  static constexpr auto fields() { return std::tuple<>{}; }
};

// What a node is before its first check.
enum class Initial : std::uint8_t {
  kUsable,  // in service until proven otherwise
  kOut,     // out until the first check passes
};
constexpr auto schema_names(Initial) {
  return std::array{schema::Name{"usable", Initial::kUsable}, schema::Name{"out", Initial::kOut}};
}

struct ActiveOptions {
  std::optional<HttpCheck> http;
  std::optional<TcpCheck> tcp;
  base::Duration interval = std::chrono::seconds(5);
  std::optional<base::Duration> timeout;
  std::uint32_t fall = 3;
  std::uint32_t rise = 2;
  std::uint16_t port = 0;
  Initial initial = Initial::kUsable;

  [[nodiscard]] base::Duration waits() const noexcept {
    return timeout.value_or(std::min<base::Duration>(std::chrono::seconds(2), interval));
  }

  static constexpr auto fields() {
    using std::chrono::hours;
    using std::chrono::milliseconds;
    return std::tuple{
        schema::field("http", &ActiveOptions::http, "Check with an HTTP request."),
        schema::field("tcp", &ActiveOptions::tcp, "Check by opening a connection."),
        schema::field("interval", &ActiveOptions::interval, "Time between two checks of a node.",
                      schema::between(milliseconds(10), hours(1))),
        schema::field("timeout", &ActiveOptions::timeout,
                      "A check that takes longer has failed. Unless set 2s, or the interval where "
                      "that is shorter.",
                      schema::between(milliseconds(1), hours(1))),
        schema::field("fall", &ActiveOptions::fall,
                      "Failed checks in a row that take a node out. A refused connection counts as "
                      "all of them.",
                      schema::between(1U, 1000U)),
        schema::field("rise", &ActiveOptions::rise,
                      "Passed checks in a row that let a node come back.",
                      schema::between(1U, 1000U)),
        schema::field("port", &ActiveOptions::port, "Port to check; 0: the node's own."),
        schema::field("initial", &ActiveOptions::initial,
                      "A new node before its first check: `usable` until proven otherwise, or "
                      "`out` until a check passes.")};
  }
  void check(schema::Faults& faults) const {
    const bool known = faults.good("http") && faults.good("tcp");
    if (known && http.has_value() == tcp.has_value()) {
      faults.error(http.has_value() ? "tcp" : "",
                   http.has_value() ? "cannot stand beside `http`: one kind of check a node"
                                    : "needs a kind of check: `http` or `tcp`");
    }
    if (timeout && *timeout > interval && faults.good("interval"))
      faults.warn("timeout",
                  "is longer than the interval: checks of a silent node follow each other late");
  }
};

struct PassiveOptions {
  std::uint32_t consecutive_failures = 5;
  static constexpr auto fields() {
    return std::tuple{schema::field(
        "consecutive_failures", &PassiveOptions::consecutive_failures,
        "Failures in a row, in traffic, that take a node out; 0: never. Failures are answers from "
        "500 on, broken answers, time-outs and failed connects. A refused connection "
        "counts as all of them, and so do two connects in a row that time out.",
        schema::between(0U, 100000U))};
  }
};

struct TrialOptions {
  std::uint32_t successes = 3;
  static constexpr auto fields() {
    return std::tuple{schema::field("successes", &TrialOptions::successes,
                                    "Answers in a row, one request at a time, that end a trial.",
                                    schema::between(1U, 1000U))};
  }
};

struct Options {
  std::optional<ActiveOptions> active;
  PassiveOptions passive;
  base::Duration cooldown = std::chrono::seconds(30);
  base::Duration cooldown_max = std::chrono::seconds(300);
  TrialOptions trial;
  base::Duration slow_start = std::chrono::seconds(60);

  static constexpr auto fields() {
    using std::chrono::hours;
    using std::chrono::milliseconds;
    return std::tuple{
        schema::field("active", &Options::active,
                      "Checks that we send; without it only traffic decides."),
        schema::field("passive", &Options::passive, "What traffic shows."),
        schema::field("cooldown", &Options::cooldown,
                      "How long a node stays out the first time; grows with each repeat.",
                      schema::between(milliseconds(10), hours(1))),
        schema::field("cooldown_max", &Options::cooldown_max,
                      "The longest a node stays out, however often it failed.",
                      schema::between(milliseconds(10), hours(24))),
        schema::field("trial", &Options::trial,
                      "How a node that was out by its traffic proves itself."),
        schema::field("slow_start", &Options::slow_start,
                      "Time over which a new or recovered node's weight grows to its full value; "
                      "0s: at once.",
                      schema::between(milliseconds(0), hours(1)))};
  }
  void check(schema::Faults& faults) const {
    if (cooldown_max < cooldown && faults.good("cooldown"))
      faults.error("cooldown_max", "is shorter than cooldown");
  }
};

}  // namespace steelyard::health
