// The request ledger for millions of requests: an id is a place in an array, so that noting costs
// an addition. Client and nodes live in one process and share it; the rules are those of judge.h
// for a run without a fault.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

namespace steelyard::rigs {

class CountLedger {
 public:
  explicit CountLedger(std::uint64_t ids)
      : ids_(ids),
        seen_(std::make_unique<std::atomic<std::uint8_t>[]>(ids)),
        answered_(std::make_unique<std::uint8_t[]>(ids)) {}

  [[nodiscard]] std::uint64_t ids() const { return ids_; }
  // A node has the whole request. Any thread.
  void saw(std::uint64_t id, bool body_ok) {
    if (id >= ids_) {
      ++foreign_;
      return;
    }
    if (seen_[id].fetch_add(1, std::memory_order_relaxed) == 255) ++foreign_;
    if (!body_ok) ++garbled_;
  }
  // The client has a whole 200 on request `id`; `right`: its nonce and bytes are those of `id`.
  void answered(std::uint64_t id, bool right) {
    if (answered_[id] < 255) ++answered_[id];
    if (!right) ++crossed_;
  }

  struct Sums {
    std::uint64_t crossed = 0;     // answers with another's nonce or bytes, requests likewise
    std::uint64_t lost = 0;        // without a whole 200, or with one that no node made
    std::uint64_t duplicated = 0;  // seen by nodes, or answered, more than once
    [[nodiscard]] std::uint64_t all() const { return crossed + lost + duplicated; }
  };
  // Of the ids below `asked`, when all is over.
  [[nodiscard]] Sums sums(std::uint64_t asked) const {
    Sums out{.crossed = crossed_ + garbled_ + foreign_};
    for (std::uint64_t id = 0; id < ids_; ++id) {
      const int seen = seen_[id], answers = answered_[id];
      if (id < asked && (seen == 0 || answers == 0)) ++out.lost;
      if (seen > 1 || answers > 1) ++out.duplicated;
      if (id >= asked && seen + answers > 0) ++out.crossed;
    }
    return out;
  }

 private:
  std::uint64_t ids_;
  std::unique_ptr<std::atomic<std::uint8_t>[]> seen_;
  std::unique_ptr<std::uint8_t[]> answered_;
  std::uint64_t crossed_ = 0;
  std::atomic<std::uint64_t> garbled_{0}, foreign_{0};
};

}  // namespace steelyard::rigs
