// What the configuration says about one route: whom it matches, where it leads, how long things may
// take, how often an exchange may be tried again.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "steelyard/base/time.h"
#include "steelyard/schema/field.h"

namespace steelyard::request {

// What a header, cookie or query argument must look like; without a condition: be there.
struct ValueOptions {
  std::optional<std::string> exact;
  std::optional<std::string> prefix;
  std::optional<std::string> regex;
  bool absent = false;
  static constexpr std::string_view kShorthand = "exact";
  static constexpr auto fields() {
    return std::tuple{
        schema::field("exact", &ValueOptions::exact, "It must be this, in case too.",
                      schema::spelled(schema::Form::kText)),
        schema::field("prefix", &ValueOptions::prefix, "It must begin with this.",
                      schema::spelled(schema::Form::kText)),
        schema::field("regex", &ValueOptions::regex,
                      "It must match this regular expression (RE2), from its begin to its end."),
        schema::field("absent", &ValueOptions::absent, "It must not be there.")};
  }
  void check(schema::Faults& faults) const {
    const int given = (exact ? 1 : 0) + (prefix ? 1 : 0) + (regex ? 1 : 0) + (absent ? 1 : 0);
    if (given > 1) {
      faults.error("",
                   "has more than one condition: exact, prefix, regex and absent exclude each "
                   "other");
    }
  }
  friend bool operator==(const ValueOptions&, const ValueOptions&) = default;
};

struct MatchOptions {
  std::string host;        // empty: any
  std::string path = "/";  // a prefix, on segment boundaries
  std::string path_exact;
  std::string path_regex;
  std::vector<std::string> methods;
  schema::Map<ValueOptions> headers;
  schema::Map<ValueOptions> cookies;
  schema::Map<ValueOptions> query;
  std::vector<std::string> clients;
  static constexpr auto fields() {
    return std::tuple{
        schema::field("host", &MatchOptions::host,
                      "Host of the request: a name, or `*.example.com` for everything below it; "
                      "empty matches any."),
        schema::field("path", &MatchOptions::path,
                      "Path prefix, by whole segments: `/api` matches `/api` and `/api/x`, not "
                      "`/apix`. Paths are compared byte for byte as they were sent, without "
                      "decoding or normalising: `/%61pi`, `//api` and `/x/../api` do not match "
                      "`/api`, and the last one matches `/x`, though a node may take all of them "
                      "for `/api`. So do not guard a path by routes: let the node guard it.",
                      schema::starts_with("/"), schema::spelled(schema::Form::kTarget)),
        schema::field("path_exact", &MatchOptions::path_exact,
                      "Instead of `path`: the whole path, without the query; compared as `path`.",
                      schema::spelled(schema::Form::kTarget)),
        schema::field("path_regex", &MatchOptions::path_regex,
                      "Instead of `path`: a regular expression (RE2) for the whole path, without "
                      "the query. Comes after exact paths and before prefixes, in the order "
                      "written."),
        schema::field("methods", &MatchOptions::methods,
                      "Methods, as [GET, HEAD]; empty matches any."),
        schema::field("headers", &MatchOptions::headers,
                      "Header fields by name, as { X-Version: v2 }; the first line of a name "
                      "counts. All conditions must hold; of two routes with the same host and path "
                      "the one with more conditions is looked at first.",
                      schema::spelled(schema::Form::kToken)),
        schema::field("cookies", &MatchOptions::cookies, "Cookies by name, as headers.",
                      schema::spelled(schema::Form::kToken)),
        schema::field("query", &MatchOptions::query,
                      "Query arguments by name, as headers; compared as sent, without decoding.",
                      schema::spelled(schema::Form::kArgument)),
        schema::field(
            "clients", &MatchOptions::clients,
            "Addresses or networks of clients, as [10.0.0.0/8, \"2001:db8::/32\"]; empty "
            "matches any. Behind proxies that the listener trusts it is the client's that "
            "they tell, else the connection's.")};
  }
  void check(schema::Faults& faults) const;
  friend bool operator==(const MatchOptions& a, const MatchOptions& b) {
    return a.host == b.host && a.path == b.path && a.path_exact == b.path_exact &&
           a.path_regex == b.path_regex && a.methods == b.methods && a.clients == b.clients &&
           a.headers.entries == b.headers.entries && a.cookies.entries == b.cookies.entries &&
           a.query.entries == b.query.entries;
  }
};

struct SplitOptions {
  std::string upstream;
  double weight = 1;
  static constexpr auto fields() {
    return std::tuple{
        schema::field("upstream", &SplitOptions::upstream, "Name of an upstream.",
                      schema::required(), schema::identifier()),
        schema::field("weight", &SplitOptions::weight,
                      "Its part of the requests relative to the others; 0 takes none.",
                      schema::between(0, 1'000'000))};
  }
  friend bool operator==(const SplitOptions&, const SplitOptions&) = default;
};

struct TimeoutOptions {
  base::Duration connect = std::chrono::seconds(1);
  base::Duration head = std::chrono::seconds(10);
  base::Duration idle = std::chrono::seconds(60);
  std::optional<base::Duration> total;
  std::optional<double> head_factor;
  bool tell = false;
  base::Duration tunnel = std::chrono::hours(1);
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
                      "Time for the whole exchange, waiting and all attempts together; off by "
                      "default.",
                      schema::between(1ms, 24h)),
        schema::field("head_factor", &TimeoutOptions::head_factor,
                      "Derives the time for the head: so many times the P99 of the upstream's last "
                      "answers as this worker has seen them, at least 50ms and never above `head`; "
                      "`head` alone while fewer than 100 answers are known. Off by default.",
                      schema::between(2.5, 5)),
        schema::field("tell", &TimeoutOptions::tell,
                      "Tells the node how much of `total` is left when it is asked, in the field "
                      "X-Request-Timeout-Ms. One that comes from a trusted proxy (`trusted` of the "
                      "listener) is honoured, and passed on shortened."),
        schema::field("tunnel", &TimeoutOptions::tunnel,
                      "Time without a byte moving in a tunnel (an upgrade or CONNECT), to which "
                      "`total` does not apply.",
                      schema::between(1ms, 24h * 30))};
  }
  friend bool operator==(const TimeoutOptions&, const TimeoutOptions&) = default;
};

struct RetryOptions {
  std::uint32_t attempts = 1;
  bool connect = true;
  bool broken = true;
  std::vector<std::uint32_t> statuses;
  std::optional<base::Duration> timeout;
  static constexpr auto fields() {
    using namespace std::chrono_literals;
    return std::tuple{
        schema::field(
            "attempts", &RetryOptions::attempts,
            "More attempts on other nodes, within the upstream's `retry_budget`; never "
            "once a byte of the answer went out, never on a node that was tried. One on a reused "
            "connection that proved dead is sent anew whatever this says.",
            schema::between(0, 2)),
        schema::field("connect", &RetryOptions::connect,
                      "After a failed connect, or when the node says that it did nothing: any "
                      "method, as long as the body is still here."),
        schema::field("broken", &RetryOptions::broken,
                      "After a connection that broke before the answer: idempotent methods, with "
                      "bodies up to 32KiB."),
        schema::field(
            "statuses", &RetryOptions::statuses,
            "After these answers, as [502, 503, 504]: idempotent methods, with bodies up "
            "to 32KiB. Where no other node can be tried the answer is passed on. A node that "
            "answers 503 with Retry-After is not picked for so long, at most 60s, while "
            "there are others, whatever stands here."),
        schema::field("timeout", &RetryOptions::timeout,
                      "Time of one attempt, until the head of its answer; then an idempotent "
                      "request is tried on another node. The last attempt is not limited by it. "
                      "Off by default.",
                      schema::between(1ms, 24h))};
  }
  void check(schema::Faults& faults) const {
    for (const auto status : statuses) {
      if (status < 400 || status > 599) {
        faults.error("statuses", "names " + std::to_string(status) + ", must be 400 to 599");
      }
    }
  }
  friend bool operator==(const RetryOptions&, const RetryOptions&) = default;
};

struct HedgeOptions {
  std::optional<base::Duration> after;
  base::Duration least = std::chrono::milliseconds(1);
  static constexpr auto fields() {
    using namespace std::chrono_literals;
    return std::tuple{
        schema::field("after", &HedgeOptions::after,
                      "Time without the head of an answer after which a second node is asked. "
                      "Without it: the P95 of the upstream's last answers as this worker has seen "
                      "them, none while fewer than 100 are known.",
                      schema::between(1ms, 5min)),
        schema::field("least", &HedgeOptions::least, "The measured P95 is taken for at least this.",
                      schema::between(1ms, 5min))};
  }
  friend bool operator==(const HedgeOptions&, const HedgeOptions&) = default;
};

struct TraceOptions {
  double sample = 0;
  static constexpr auto fields() {
    return std::tuple{schema::field(
        "sample", &TraceOptions::sample,
        "Share of the traces that begin here whose sampled flag is set.", schema::ratio())};
  }
  friend bool operator==(const TraceOptions&, const TraceOptions&) = default;
};

struct RouteOptions {
  MatchOptions match;
  std::string upstream;
  TimeoutOptions timeouts;
  RetryOptions retry;
  std::optional<HedgeOptions> hedge;
  std::vector<SplitOptions> split;
  std::string split_by = "random";
  std::vector<std::string> upgrades;
  bool connect = false;
  std::optional<TraceOptions> trace;
  static constexpr auto fields() {
    return std::tuple{
        schema::field("match", &RouteOptions::match, "Which requests take this route."),
        schema::field("upstream", &RouteOptions::upstream,
                      "Name of the upstream it leads to; this or `split`.", schema::identifier()),
        schema::field(
            "split", &RouteOptions::split,
            "Several upstreams that share its requests, as [{ upstream: v1, weight: 95 }, "
            "{ upstream: v2, weight: 5 }]."),
        schema::field("split_by", &RouteOptions::split_by,
                      "What decides: `random`, or what keeps a client at one of them while weights "
                      "stand: `client` (its address), `header:NAME`, `cookie:NAME`, `query:NAME`; "
                      "at random where a request has none. When a weight grows, only requests "
                      "that it gains move."),
        schema::field("upgrades", &RouteOptions::upgrades,
                      "Protocols that a connection may change to, as [websocket]. Where a request "
                      "offers another one its Upgrade is not passed on, and it is answered as "
                      "plain HTTP. None by default."),
        schema::field("connect", &RouteOptions::connect,
                      "Passes CONNECT on to the upstream's nodes, which decide what to connect to; "
                      "else it is answered 501."),
        schema::field("trace", &RouteOptions::trace,
                      "Continues the W3C trace of a request (traceparent) under an id of our own, "
                      "or begins one. Off by default: both fields pass as they came; `{}` "
                      "switches it on."),
        schema::field("timeouts", &RouteOptions::timeouts, "How long each step may take."),
        schema::field("retry", &RouteOptions::retry, "When to try another node."),
        schema::field("hedge", &RouteOptions::hedge,
                      "Asks a second node when the first is slow, for idempotent requests within "
                      "the upstream's `retry_budget`; whoever answers first wins, the other is "
                      "cancelled. Off by default; `{}` switches it on.")};
  }
  void check(schema::Faults& faults) const;
  friend bool operator==(const RouteOptions&, const RouteOptions&) = default;
};

}  // namespace steelyard::request
