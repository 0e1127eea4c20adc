// `sense:` of an upstream: how its nodes are asked for their score. The collection itself is done
// by probe.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>

#include "steelyard/base/time.h"
#include "steelyard/schema/field.h"

namespace steelyard::sense {

struct ScoreOptions {
  std::string path = "/health/score";
  base::Duration interval = std::chrono::seconds(10);
  base::Duration timeout = std::chrono::seconds(3);
  std::uint16_t port = 0;
  std::optional<base::Duration> expiry;

  // After this long without a report a node's report is unknown.
  [[nodiscard]] base::Duration expires_after() const noexcept {
    return expiry.value_or(3 * interval);
  }

  static constexpr auto fields() {
    using std::chrono::hours;
    using std::chrono::milliseconds;
    using std::chrono::seconds;
    return std::tuple{
        schema::field("path", &ScoreOptions::path, "Path of the score endpoint.",
                      schema::starts_with("/"), schema::spelled(schema::Form::kTarget)),
        schema::field("interval", &ScoreOptions::interval,
                      "Time between two collections from a node.",
                      schema::between(milliseconds(100), hours(1))),
        schema::field("timeout", &ScoreOptions::timeout,
                      "A collection that takes longer has failed.",
                      schema::between(milliseconds(10), hours(1))),
        schema::field("port", &ScoreOptions::port,
                      "Port of the score endpoint; 0: the node's own."),
        schema::field("expiry", &ScoreOptions::expiry,
                      "A report older than this counts as unknown; three intervals unless set.",
                      schema::between(milliseconds(100), hours(24)))};
  }
  void check(schema::Faults& faults) const {
    if (expiry && *expiry < interval && faults.good("interval"))
      faults.error("expiry", "is shorter than interval: no report would ever count");
  }
};

struct Options {
  std::optional<ScoreOptions> score;

  static constexpr auto fields() {
    return std::tuple{
        schema::field("score", &Options::score,
                      "Collect health scores over HTTP; without it nodes are not asked.")};
  }
};

}  // namespace steelyard::sense
