// Slots: where the counters of nodes live. A slot never moves while the process lives; control
// claims and frees slots, workers count in them, control reads.
//
//   NodeLine     one line shared by all workers: in-flight, max in-flight, trial, the concurrency
//   limit. Atomics, since per-worker counts would break
//                least connections and a table cannot say "exactly one trial".
//   WorkerCells  one block per slot and worker: Cells, written by that worker only, never reset
//   (readers keep a baseline), gauges apart.
//
// Reuse: control frees a slot only when it is in no Table, every worker is past that Table,
// in-flight is 0 and its pools are empty. `claim` raises the generation; late events of the former
// owner fail on it. Threads: claim/release: control. NodeLine: any. WorkerCells of worker w:
// written by w, read by control. Memory: allocated a slot at a time on first claim, never given
// back: about 1 KiB × workers a slot.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "steelyard/base/cell.h"
#include "steelyard/base/histogram.h"
#include "steelyard/model/node_ref.h"

namespace steelyard::model {

struct alignas(base::kCacheLine) NodeLine {
  std::atomic<std::uint32_t> in_flight{0};
  std::atomic<std::uint32_t> max_in_flight{0};  // 0 = no limit; 1 while on trial; by control
  std::atomic<std::uint32_t> generation{0};
  std::atomic<std::uint32_t> limit_parts{0};  // of the request rules, in 1/256; by any worker

  // The rules' concurrency limit; 0 = none. A gradient moves it by fractions.
  [[nodiscard]] double limit() const noexcept {
    return static_cast<double>(limit_parts.load(std::memory_order_relaxed)) / kParts;
  }
  void set_limit(double limit) noexcept {
    const auto parts = static_cast<std::uint32_t>(limit * kParts);
    if (limit_parts.load(std::memory_order_relaxed) != parts) {
      limit_parts.store(parts, std::memory_order_relaxed);
    }
  }
  // How many it takes at most now; 0 = no limit.
  [[nodiscard]] std::uint32_t most() const noexcept {
    const auto max = max_in_flight.load(std::memory_order_relaxed);
    const auto parts = limit_parts.load(std::memory_order_relaxed);
    if (parts == 0) return max;
    const std::uint32_t limit = parts < kParts ? 1 : parts / kParts;
    return max == 0 || limit < max ? limit : max;
  }

 private:
  static constexpr std::uint32_t kParts = 256;
};

// What one worker has seen of one node. Counters only grow (since process start), except
// `failure_streak`.
struct alignas(base::kCacheLine) WorkerCells {
  base::Cell<std::uint64_t> attempts;   // attempts begun (picked)
  base::Cell<std::uint64_t> retries;    // of which after the first of an exchange, hedges too
  base::Cell<std::uint64_t> successes;  // answers that count as success (status < 500)
  base::Cell<std::uint64_t> failures;   // answers ≥ 500, broken answers, time-outs after connecting
  base::Cell<std::uint64_t>
      connect_failures;                // refused, unreachable, connect time-out (not in `failures`)
  base::Cell<std::uint64_t> refused;   // of which refused or unreachable: the node is not there
  base::Cell<std::uint64_t> timeouts;  // of which (either kind) time-outs
  base::Cell<std::uint32_t>
      failure_streak;                // failures of any kind since this worker's last success
  base::Cell<std::uint64_t> pooled;  // idle connections this worker keeps to the node
  base::Cell<std::uint64_t>
      base_latency;  // ns, the long run that a gradient limit goes by; a gauge, 0 = not known
  base::CellHistogram head_latency;  // request sent → answer head, successes only
};

class Slots {
 public:
  Slots(std::uint32_t capacity, std::uint32_t workers);
  ~Slots();
  Slots(const Slots&) = delete;
  Slots& operator=(const Slots&) = delete;

  [[nodiscard]] std::uint32_t capacity() const noexcept {
    return static_cast<std::uint32_t>(slots_.size());
  }
  [[nodiscard]] std::uint32_t workers() const noexcept { return workers_; }

  // Control. Nothing when all slots are in use.
  [[nodiscard]] std::optional<NodeRef> claim();
  // Control, under the reuse rule above.
  void release(NodeRef ref);

  // Any thread, for a NodeRef that was published in a Table the thread still holds or that it holds
  // an InFlight of.
  [[nodiscard]] NodeLine& line(NodeRef ref) const noexcept { return slots_[ref.slot]->line; }
  [[nodiscard]] WorkerCells& cells(NodeRef ref, std::uint32_t worker) const noexcept {
    return slots_[ref.slot]->cells[worker];
  }
  [[nodiscard]] bool current(NodeRef ref) const noexcept {
    return ref.slot < slots_.size() && slots_[ref.slot] != nullptr &&
           line(ref).generation.load(std::memory_order_acquire) == ref.generation;
  }
  [[nodiscard]] std::uint32_t in_flight(NodeRef ref) const noexcept {
    return line(ref).in_flight.load(std::memory_order_relaxed);
  }

 private:
  struct Slot {
    explicit Slot(std::uint32_t workers) : cells(workers) {}
    NodeLine line;
    std::vector<WorkerCells> cells;
    bool used = false;
  };
  std::vector<std::unique_ptr<Slot>>
      slots_;  // sized once; an entry is filled before any Table names it
  std::vector<std::uint32_t> free_;
  std::uint32_t workers_;
  std::uint32_t next_ = 0;
};

// One unit of a node's in-flight count, held by one attempt. Taking it reserves and checks in one
// fetch_add; its destructor gives it back, however the attempt ends.
class InFlight {
 public:
  InFlight() = default;
  // Nothing when the node is at its limit (NodeLine::most; 1 while on trial).
  static std::optional<InFlight> acquire(NodeLine& line) noexcept {
    const auto max = line.most();
    const auto before = line.in_flight.fetch_add(1, std::memory_order_acq_rel);
    if (max != 0 && before >= max) {
      line.in_flight.fetch_sub(1, std::memory_order_acq_rel);
      return std::nullopt;
    }
    return InFlight(line);
  }
  InFlight(InFlight&& other) noexcept : line_(std::exchange(other.line_, nullptr)) {}
  InFlight& operator=(InFlight&& other) noexcept {
    if (this != &other) {
      give_back();
      line_ = std::exchange(other.line_, nullptr);
    }
    return *this;
  }
  InFlight(const InFlight&) = delete;
  InFlight& operator=(const InFlight&) = delete;
  ~InFlight() { give_back(); }

  void give_back() noexcept {
    if (line_ != nullptr) line_->in_flight.fetch_sub(1, std::memory_order_acq_rel);
    line_ = nullptr;
  }
  [[nodiscard]] bool held() const noexcept { return line_ != nullptr; }

 private:
  explicit InFlight(NodeLine& line) noexcept : line_(&line) {}
  NodeLine* line_ = nullptr;
};

}  // namespace steelyard::model
