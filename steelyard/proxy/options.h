// What the configuration says about the proxy: listeners with their routes, how clients are
// treated, how connections to nodes are kept, how it stops.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "steelyard/base/address.h"
#include "steelyard/base/bytes.h"
#include "steelyard/base/time.h"
#include "steelyard/io/options.h"
#include "steelyard/request/network.h"
#include "steelyard/request/options.h"
#include "steelyard/schema/field.h"

namespace steelyard::proxy {

struct ListenerOptions {
  base::Address address;
  std::vector<request::RouteOptions> routes;
  std::uint32_t max_connections = 0;
  std::vector<std::string> trusted;
  static constexpr auto fields() {
    return std::tuple{
        schema::field("address", &ListenerOptions::address,
                      "Address and port to listen on; `:8080` is every IPv4 address.",
                      schema::required(), schema::any_address()),
        schema::field("routes", &ListenerOptions::routes,
                      "Where requests go, by host and path; the most exact match wins.",
                      schema::required(), schema::non_empty()),
        schema::field(
            "max_connections", &ListenerOptions::max_connections,
            "Client connections of this address; more wait in the kernel's queue. 0 is no "
            "limit but clients.max_connections.",
            schema::between(0, 10'000'000)),
        schema::field(
            "trusted", &ListenerOptions::trusted,
            "Addresses or networks of proxies of ours, as [10.0.0.0/8, \"2001:db8::/32\"]. What "
            "they send of X-Forwarded-For, -Proto, -Host, -Port, X-Real-IP and Forwarded is kept; "
            "from others these are replaced. The client of their requests, for routes and the "
            "log, is the right-most address of X-Forwarded-For that is not trusted.")};
  }
  void check(schema::Faults& faults) const {
    for (const auto& text : trusted) {
      if (const auto network = request::Network::parse(text); !network) {
        faults.error("trusted", "names \"" + text + "\", which " + network.error().text);
      }
    }
  }
  friend bool operator==(const ListenerOptions&, const ListenerOptions&) = default;
};

struct ClientOptions {
  base::Duration head_timeout = std::chrono::seconds(10);
  base::Duration idle_timeout = std::chrono::seconds(75);
  base::Duration write_timeout = std::chrono::seconds(30);
  base::Bytes min_rate{240};
  std::uint32_t max_connections = 20'000;
  std::uint32_t max_connections_per_address = 0;
  std::uint32_t max_requests = 0;
  base::Bytes max_head = base::kib(64);
  std::uint32_t max_fields = 100;
  base::Bytes max_line = base::kib(8);
  base::Bytes max_body = base::mib(100);
  bool trust_forwarded = false;
  static constexpr auto fields() {
    using namespace std::chrono_literals;
    return std::tuple{
        schema::field(
            "head_timeout", &ClientOptions::head_timeout,
            "Time for the head of a request, from its first byte (408) or from connecting.",
            schema::between(1ms, 1h)),
        schema::field("idle_timeout", &ClientOptions::idle_timeout,
                      "Time an idle keep-alive connection is kept open.",
                      schema::between(1ms, 24h)),
        schema::field("write_timeout", &ClientOptions::write_timeout,
                      "Time that a client may take less of its answer than min_rate says, while "
                      "some waits for it; then its connection is closed.",
                      schema::between(1s, 1h)),
        schema::field("min_rate", &ClientOptions::min_rate,
                      "Bytes a second that a client must send of a body and take of an answer. A "
                      "slow body is answered with 408 after 5 s of grace; time in which we do not "
                      "take more of it does not count. 0 asks only that something moves."),
        schema::field(
            "max_connections", &ClientOptions::max_connections,
            "Client connections of the whole process; more wait in the kernel's queue. Each "
            "may take two descriptors; with too few of these for all, less are let in.",
            schema::between(1, 10'000'000)),
        schema::field("max_connections_per_address", &ClientOptions::max_connections_per_address,
                      "Connections of one client address (IPv6: of its /64); more are closed when "
                      "they come. 0 is no limit, as behind another balancer.",
                      schema::between(0, 10'000'000)),
        schema::field("max_requests", &ClientOptions::max_requests,
                      "Requests after which a client's connection is closed; 0 is no limit.",
                      schema::between(0, 1'000'000'000)),
        schema::field("max_head", &ClientOptions::max_head, "Bytes of a request's head (431).",
                      schema::between(base::kib(1), base::mib(1)), schema::until_restart()),
        schema::field("max_fields", &ClientOptions::max_fields,
                      "Fields of a request's head (431) and of its trailers.",
                      schema::between(10, 10'000), schema::until_restart()),
        schema::field("max_line", &ClientOptions::max_line,
                      "Bytes of a request's first line, which holds the URI (414).",
                      schema::between(base::Bytes{256}, base::kib(64)), schema::until_restart()),
        schema::field("max_body", &ClientOptions::max_body,
                      "Bytes of a request's body (413); 0 is no limit.", schema::until_restart()),
        schema::field(
            "trust_forwarded", &ClientOptions::trust_forwarded,
            "All clients are proxies of ours, as if each listener named them as `trusted`: what "
            "they send of X-Forwarded-For, -Proto, -Host, -Port, X-Real-IP and Forwarded is "
            "kept.")};
  }
  friend bool operator==(const ClientOptions&, const ClientOptions&) = default;
};

struct PoolOptions {
  std::uint32_t connections = 32;
  base::Duration idle_timeout = std::chrono::seconds(50);
  base::Duration max_age = std::chrono::hours(1);
  std::uint32_t max_requests = 0;
  static constexpr auto fields() {
    using namespace std::chrono_literals;
    return std::tuple{
        schema::field("connections", &PoolOptions::connections,
                      "Idle connections kept to each node by each worker. A good value is 1.5 × "
                      "requests a second × mean latency in seconds, divided by the workers.",
                      schema::between(0, 100'000)),
        schema::field("idle_timeout", &PoolOptions::idle_timeout,
                      "Longest time an idle connection to a node is kept. Shorter when the node "
                      "says so (`Keep-Alive: timeout=N`, minus 1 s) or has closed two in a row "
                      "after about the same idle time (minus a tenth).",
                      schema::between(1ms, 24h)),
        schema::field("max_age", &PoolOptions::max_age,
                      "Age from which a connection to a node is not kept after its request; 0 is "
                      "no limit.",
                      schema::between(0s, 24h * 365)),
        schema::field("max_requests", &PoolOptions::max_requests,
                      "Requests after which a connection to a node is not kept; 0 is no limit.",
                      schema::between(0, 1'000'000'000))};
  }
  friend bool operator==(const PoolOptions&, const PoolOptions&) = default;
};

struct DrainOptions {
  base::Duration accept{};
  base::Duration limit = std::chrono::seconds(30);
  base::Duration idle = std::chrono::seconds(2);
  static constexpr auto fields() {
    using namespace std::chrono_literals;
    return std::tuple{
        schema::field("accept", &DrainOptions::accept,
                      "Time that new connections are still taken when stopping, so that a balancer "
                      "in front sees /readyz fail and turns away first; every answer says "
                      "`Connection: close`. The times below begin after it.",
                      schema::between(0s, 1h)),
        schema::field("limit", &DrainOptions::limit,
                      "Time that exchanges get to finish when stopping; then they are broken off.",
                      schema::between(0s, 24h)),
        schema::field(
            "idle", &DrainOptions::idle,
            "Time that idle connections stay open when stopping, for requests under way to "
            "them; each such request is answered with `Connection: close`.",
            schema::between(0s, 1h))};
  }
  friend bool operator==(const DrainOptions&, const DrainOptions&) = default;
};

struct OverloadOptions {
  base::Bytes memory = base::mib(1024);
  static constexpr auto fields() {
    return std::tuple{schema::field(
        "memory", &OverloadOptions::memory,
        "Bytes that traffic may hold in buffers, all workers together. From 85 % time-outs of "
        "clients are a quarter, from 92 % connections are closed after their answers, from 95 % "
        "requests get 503 with Retry-After, from 98 % the largest exchange is broken off. 0 is no "
        "limit.")};
  }
  friend bool operator==(const OverloadOptions&, const OverloadOptions&) = default;
};

struct LogOptions {
  std::string file;
  std::string format = "combined";
  double sample = 1;
  static constexpr auto fields() {
    return std::tuple{
        schema::field("file", &LogOptions::file,
                      "File that the access log is appended to, `-` for standard output; empty for "
                      "none. USR1 opens it anew.",
                      schema::spelled(schema::Form::kLine)),
        schema::field("format", &LogOptions::format,
                      "`combined`, `json`, or text with variables: `$status $request_time`.",
                      schema::non_empty(), schema::spelled(schema::Form::kText)),
        schema::field("sample", &LogOptions::sample,
                      "Share of the exchanges that is logged; those with a status from 500 on "
                      "always are.",
                      schema::ratio())};
  }
  friend bool operator==(const LogOptions&, const LogOptions&) = default;
};

struct Options {
  std::uint32_t workers = 0;
  io::Backend io = io::Backend::kAuto;
  ClientOptions clients;
  PoolOptions pool;
  OverloadOptions overload;
  LogOptions log;
  DrainOptions drain;
  static constexpr auto fields() {
    return std::tuple{
        schema::field("workers", &Options::workers,
                      "Threads that move traffic; 0 is one a processor.", schema::between(0, 1024),
                      schema::until_restart()),
        schema::field("io", &Options::io,
                      "How workers talk to the kernel: `uring`, `epoll`, or `auto`, which is "
                      "`uring` where the kernel has all of it.",
                      schema::until_restart()),
        schema::field("clients", &Options::clients, "How clients are treated."),
        schema::field("pool", &Options::pool, "Connections kept to nodes."),
        schema::field("overload", &Options::overload, "What it does when it runs out of room."),
        schema::field("log", &Options::log, "The access log."),
        schema::field("drain", &Options::drain, "How it stops.")};
  }
  friend bool operator==(const Options&, const Options&) = default;
};

}  // namespace steelyard::proxy
