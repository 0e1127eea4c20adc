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
#include "steelyard/request/options.h"
#include "steelyard/schema/field.h"

namespace steelyard::proxy {

struct ListenerOptions {
  base::Address address;
  std::vector<request::RouteOptions> routes;
  static constexpr auto fields() {
    return std::tuple{
        schema::field("address", &ListenerOptions::address,
                      "Address and port to listen on; `:8080` is every IPv4 address.",
                      schema::required(), schema::any_address()),
        schema::field("routes", &ListenerOptions::routes,
                      "Where requests go, by host and path; the most exact match wins.",
                      schema::required(), schema::non_empty())};
  }
  friend bool operator==(const ListenerOptions&, const ListenerOptions&) = default;
};

struct ClientOptions {
  base::Duration head_timeout = std::chrono::seconds(10);
  base::Duration idle_timeout = std::chrono::seconds(75);
  std::uint32_t max_connections = 20'000;
  base::Bytes max_head = base::kib(64);
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
        schema::field(
            "max_connections", &ClientOptions::max_connections,
            "Client connections of the whole process; more wait in the kernel's queue. Each "
            "may take two descriptors.",
            schema::between(1, 10'000'000)),
        schema::field("max_head", &ClientOptions::max_head, "Bytes of a request's head (431).",
                      schema::between(base::kib(1), base::mib(1)), schema::until_restart()),
        schema::field("max_body", &ClientOptions::max_body,
                      "Bytes of a request's body (413); 0 is no limit.", schema::until_restart()),
        schema::field("trust_forwarded", &ClientOptions::trust_forwarded,
                      "Keep the X-Forwarded-Proto and -Host that clients send.")};
  }
  friend bool operator==(const ClientOptions&, const ClientOptions&) = default;
};

struct PoolOptions {
  std::uint32_t connections = 32;
  base::Duration idle_timeout = std::chrono::seconds(50);
  static constexpr auto fields() {
    using namespace std::chrono_literals;
    return std::tuple{
        schema::field("connections", &PoolOptions::connections,
                      "Idle connections kept to each node by each worker. A good value is 1.5 × "
                      "requests a second × mean latency in seconds, divided by the workers.",
                      schema::between(0, 100'000)),
        schema::field("idle_timeout", &PoolOptions::idle_timeout,
                      "Time an idle connection to a node is kept; shorter than the nodes' own.",
                      schema::between(1ms, 24h))};
  }
  friend bool operator==(const PoolOptions&, const PoolOptions&) = default;
};

struct DrainOptions {
  base::Duration limit = std::chrono::seconds(30);
  base::Duration idle = std::chrono::seconds(2);
  static constexpr auto fields() {
    using namespace std::chrono_literals;
    return std::tuple{
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

struct Options {
  std::uint32_t workers = 0;
  ClientOptions clients;
  PoolOptions pool;
  DrainOptions drain;
  static constexpr auto fields() {
    return std::tuple{schema::field("workers", &Options::workers,
                                    "Threads that move traffic; 0 is one a processor.",
                                    schema::between(0, 1024), schema::until_restart()),
                      schema::field("clients", &Options::clients, "How clients are treated."),
                      schema::field("pool", &Options::pool, "Connections kept to nodes."),
                      schema::field("drain", &Options::drain, "How it stops.")};
  }
  friend bool operator==(const Options&, const Options&) = default;
};

}  // namespace steelyard::proxy
