// LoadGenerator: an open-loop load for the demo: requests arrive as a Poisson stream at a fixed
// rate, whether or not earlier ones were answered, as real clients do.
//
// Latency counts from the moment a request was due. An answer from 500 up, a broken connection or
// no answer in time is an error. At most `max_open` requests are open; one that finds no place is
// an error too, never skipped. Threads: the reactor's; stats are read there.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "steelyard/base/address.h"
#include "steelyard/base/rng.h"
#include "steelyard/cli/demo_report.h"
#include "steelyard/io/reactor.h"
#include "steelyard/wire/client.h"

namespace steelyard::cli {

struct LoadOptions {
  base::Address to;
  double rate = 100;  // requests a second
  base::Duration timeout = std::chrono::seconds(20);
  std::uint32_t max_open = 4096;
  std::uint64_t seed = 1;
};

class LoadGenerator final : io::TimerEvents {
 public:
  LoadGenerator(io::Reactor& reactor, const LoadOptions& options);

  void start();
  void stop();  // no new requests; open ones go on
  [[nodiscard]] std::size_t open() const noexcept { return client_.pending(); }
  void set_phase(Phase phase) noexcept { phase_ = phase; }
  [[nodiscard]] const DemoStats& stats() const noexcept { return stats_; }

 private:
  void on_time() noexcept override;
  void send(base::TimePoint due);
  void finish(std::uint32_t slot, base::TimePoint due, Phase phase,
              const base::Result<wire::Response>& result);

  io::Reactor& reactor_;
  LoadOptions options_;
  base::Rng rng_;
  wire::Client client_;
  std::vector<wire::Call> calls_;
  std::vector<std::uint32_t> free_;
  std::unique_ptr<io::Timer> timer_;
  base::TimePoint next_{};
  bool running_ = false;
  Phase phase_ = Phase::kHealthy;
  DemoStats stats_;
};

}  // namespace steelyard::cli
