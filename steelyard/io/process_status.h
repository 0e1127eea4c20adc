// ProcessStatus: what the supervisor tells of itself and of its engines, for metrics and for
// people. Values; times are Unix seconds, 0: never.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace steelyard::io {

// What an engine that drains still has.
struct Holding {
  std::uint64_t connections = 0;  // of clients, tunnels included
  std::uint64_t exchanges = 0;
  std::uint64_t tunnels = 0;

  [[nodiscard]] std::string to_text() const;
  [[nodiscard]] static std::optional<Holding> parse(std::string_view text);
  friend bool operator==(const Holding&, const Holding&) = default;
};

struct ProcessStatus {
  struct Draining {
    int pid = 0;
    std::uint64_t generation = 0;
    std::int64_t since = 0;
    std::optional<Holding> holding;  // nothing: it has not said
    friend bool operator==(const Draining&, const Draining&) = default;
  };

  int supervisor = 0;            // its process id; 0: there is none
  std::int64_t started = 0;      // the supervisor, before any upgrade
  std::uint64_t generation = 1;  // this engine's number since the supervisor's first

  std::uint64_t crashes = 0;  // engines that ended unasked
  std::int64_t last_crash = 0;
  int crashed_pid = 0;
  std::string crashed_how;                   // "was killed by signal 11 (Segmentation fault)"
  std::vector<std::int64_t> recent_crashes;  // oldest first; may hold some that are too old
  std::uint64_t crash_limit = 0;             // so many in …
  std::int64_t crash_window = 0;             // … so many seconds start at once, then pauses come

  std::uint64_t upgrades = 0;         // done …
  std::uint64_t failed_upgrades = 0;  // … and given up
  bool upgrading = false;
  std::int64_t upgrade_failed = 0;
  std::string upgrade_failure;

  std::vector<Draining> draining;
  bool lost = false;  // the supervisor is gone; not part of the text

  // One line.
  [[nodiscard]] std::string to_text() const;
  [[nodiscard]] static std::optional<ProcessStatus> parse(std::string_view text);
};

}  // namespace steelyard::io
