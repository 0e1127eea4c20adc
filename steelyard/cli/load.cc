#include "steelyard/cli/load.h"

#include <algorithm>
#include <cmath>

namespace steelyard::cli {

LoadGenerator::LoadGenerator(io::Reactor& reactor, const LoadOptions& options)
    : reactor_(reactor),
      options_(options),
      rng_(options.seed),
      client_(reactor),
      calls_(options.max_open),
      timer_(reactor.timer(*this)) {
  for (std::uint32_t i = options.max_open; i > 0; --i) free_.push_back(i - 1);
}

void LoadGenerator::start() {
  running_ = true;
  next_ = reactor_.now();
  timer_->at(next_);
}

void LoadGenerator::stop() {
  running_ = false;
  timer_->cancel();
}

void LoadGenerator::on_time() noexcept {
  while (running_ && next_ <= reactor_.now()) {
    send(next_);
    next_ += base::from_seconds(-std::log(1.0 - rng_.unit()) / options_.rate);
  }
  if (running_) timer_->at(next_);
}

void LoadGenerator::send(base::TimePoint due) {
  auto& stats = stats_[static_cast<std::size_t>(phase_)];
  if (free_.empty()) {
    ++stats.errors;
    return;
  }
  const std::uint32_t slot = free_.back();
  free_.pop_back();
  calls_[slot] = client_.send(
      options_.to, {}, {.timeout = options_.timeout, .want_headers = false},
      [this, slot, due, phase = phase_](auto result) { finish(slot, due, phase, result); });
}

void LoadGenerator::finish(std::uint32_t slot, base::TimePoint due, Phase phase,
                           const base::Result<wire::Response>& result) {
  auto& stats = stats_[static_cast<std::size_t>(phase)];
  if (!result || result->status >= 500) {
    ++stats.errors;
  } else {
    ++stats.answered;
    const auto took = reactor_.now() - due;
    stats.latency.add(took);
    stats.worst = std::max(stats.worst, took);
  }
  free_.push_back(slot);
}

}  // namespace steelyard::cli
