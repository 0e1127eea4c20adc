// What the configuration says about the requests to one upstream, whichever route they came by: how
// many may be tried again, how many a node takes at once, how many wait for it.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>
#include <tuple>

#include "steelyard/base/time.h"
#include "steelyard/schema/field.h"

namespace steelyard::request {

struct BudgetOptions {
  double ratio = 0.2;
  double floor = 3;
  static constexpr std::string_view kShorthand = "ratio";
  static constexpr auto fields() {
    return std::tuple{
        schema::field("ratio", &BudgetOptions::ratio,
                      "Retries and hedges, as a share of the requests of the last 10 s.",
                      schema::ratio(0, 1)),
        schema::field(
            "floor", &BudgetOptions::floor,
            "Retries and hedges a second that are always allowed, counted over 10 s: 3 is "
            "30 of them in any 10 s, also all at once. All workers together: each has "
            "its part of them.",
            schema::between(0, 1'000'000))};
  }
  friend bool operator==(const BudgetOptions&, const BudgetOptions&) = default;
};

enum class Concurrency : std::uint8_t { kStatic, kGradient };
constexpr auto schema_names(Concurrency) {
  return std::array{schema::Name{"static", Concurrency::kStatic},
                    schema::Name{"gradient", Concurrency::kGradient}};
}

struct LimitOptions {
  static constexpr std::uint32_t kGradientMost = 200;

  Concurrency concurrency = Concurrency::kStatic;
  std::uint32_t max_in_flight = 0;
  std::uint32_t min_in_flight = 20;
  static constexpr auto fields() {
    return std::tuple{
        schema::field("concurrency", &LimitOptions::concurrency,
                      "`static`: each node takes `max_in_flight` at once; `gradient`: the limit of "
                      "each node follows its latency, between `min_in_flight` and "
                      "`max_in_flight`, so that it falls before errors do."),
        schema::field("max_in_flight", &LimitOptions::max_in_flight,
                      "Requests that a node has at most at a time, all workers together; 0 is no "
                      "limit, with `gradient` 200.",
                      schema::between(0, 1'000'000)),
        schema::field("min_in_flight", &LimitOptions::min_in_flight,
                      "With `gradient`: where it begins, and how far it may fall.",
                      schema::between(1, 1'000'000))};
  }
  // The most that a gradient may come to.
  [[nodiscard]] constexpr std::uint32_t ceiling() const noexcept {
    return max_in_flight != 0 ? max_in_flight : kGradientMost;
  }
  void check(schema::Faults& faults) const {
    if (concurrency == Concurrency::kGradient && faults.good("max_in_flight") &&
        min_in_flight > ceiling()) {
      faults.error("min_in_flight", "is above max_in_flight, which a gradient may not pass");
    }
  }
  friend bool operator==(const LimitOptions&, const LimitOptions&) = default;
};

struct QueueOptions {
  std::uint32_t size = 64;
  base::Duration timeout = std::chrono::milliseconds(40);
  static constexpr auto fields() {
    using namespace std::chrono_literals;
    return std::tuple{
        schema::field("size", &QueueOptions::size,
                      "Requests that wait, on each worker, while every node is at its limit; the "
                      "next is answered 503 at once. 0: none waits.",
                      schema::between(0, 1'000'000)),
        schema::field("timeout", &QueueOptions::timeout,
                      "Time that one waits, then it is answered 503.", schema::between(1ms, 5min))};
  }
  friend bool operator==(const QueueOptions&, const QueueOptions&) = default;
};

struct UpstreamRules {
  std::string key = "random";
  std::optional<BudgetOptions> retry_budget = BudgetOptions{};
  LimitOptions limits;
  QueueOptions queue;
  static constexpr auto fields() {
    return std::tuple{
        schema::field(
            "key", &UpstreamRules::key,
            "What pickers that go by a key take of a request: `client` (its address), "
            "`client/24/56` (the first bits of it, IPv4 and IPv6: one network is one client), "
            "`path`, `uri` (path and query), `host`, `header:NAME`, `cookie:NAME`, `query:NAME`. "
            "A request without it goes to any node, by weight."),
        schema::field("retry_budget", &UpstreamRules::retry_budget,
                      "How many requests may be tried again or hedged; `off` is no limit, with "
                      "which an outage doubles the load."),
        schema::field("limits", &UpstreamRules::limits, "How much a node takes at a time."),
        schema::field("queue", &UpstreamRules::queue,
                      "Who waits while every node is at its limit.")};
  }
  friend bool operator==(const UpstreamRules&, const UpstreamRules&) = default;
};

}  // namespace steelyard::request
