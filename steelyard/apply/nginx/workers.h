// The worker processes of an Nginx master, as seen from outside, and when they are a new
// generation.
//
// `nginx -s reload` returns before anything is loaded, so that its success says nothing. What says
// something: children of the master titled "nginx: worker process" that were not there before, and
// none of the former ones left but as "… is shutting down". A worker is (pid, start time), so that
// a reused pid is no survivor.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "steelyard/base/result.h"

namespace steelyard::apply::nginx {

struct Worker {
  int pid = 0;
  std::uint64_t start = 0;  // clock ticks since boot
  friend bool operator==(const Worker&, const Worker&) = default;
  friend auto operator<=>(const Worker&, const Worker&) = default;
};

struct Workers {
  int master = 0;              // 0: Nginx does not run
  std::vector<Worker> active;  // in order
  std::uint64_t old = 0;       // shutting down
  std::string why;             // Nginx does not run: how we know
  friend bool operator==(const Workers&, const Workers&) = default;
};

// A new generation serves in `now`, and nobody of `before` takes new connections.
[[nodiscard]] bool new_generation(const Workers& before, const Workers& now) noexcept;

// Reads the pid file and /proc (under `proc`). A master that is not there is no error.
[[nodiscard]] Workers read_workers(const std::string& pid_file, const std::string& proc = "/proc");

}  // namespace steelyard::apply::nginx
