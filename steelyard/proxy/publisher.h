// Publisher: control's side of what the workers use. Owns the records, hands out the latest, frees
// what nobody can hold.
//
// A record is freed when every worker's `taken` is greater than its number; a Config, with its last
// record or when no worker says that it still uses it, whichever is later. `collect` does this;
// call it each tick and whenever a worker reports that it took a record (WorkerEvents::on_taken).
// `when_taken` is what an API write waits on: its callback runs inside `collect` or `publish`, with
// the workers that were silent until the deadline (none: all have it).
//
// Threads: control only, but for the cells. The Publisher outlives the workers.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "steelyard/base/time.h"
#include "steelyard/proxy/published.h"

namespace steelyard::proxy {

class Publisher {
 public:
  // `wake` is called for each worker after a new record is in its cell: post an empty task to it.
  Publisher(std::uint32_t workers, std::function<void(std::uint32_t worker)> wake);
  ~Publisher();
  Publisher(const Publisher&) = delete;
  Publisher& operator=(const Publisher&) = delete;

  [[nodiscard]] Published& cell(std::uint32_t worker) noexcept { return cells_[worker]; }

  // Gives the record's number.
  std::uint64_t publish(std::shared_ptr<const Config> config,
                        std::shared_ptr<const pick::Table> table);
  // A worker that never starts or has stopped for good: it holds nothing and is not waited for.
  void retire(std::uint32_t worker);
  void collect(base::TimePoint now);

  using Taken = std::function<void(const std::vector<std::uint32_t>& silent)>;
  void when_taken(std::uint64_t record, base::TimePoint deadline, Taken done);
  // Of the oldest waiting, for control's timer; TimePoint::max() when nobody waits.
  [[nodiscard]] base::TimePoint next_deadline() const noexcept;

  // Every worker holds this model::Table number or a later one (0: not yet all hold any).
  [[nodiscard]] std::uint64_t table_taken() const noexcept { return table_taken_; }
  [[nodiscard]] std::uint64_t record_number() const noexcept { return number_; }
  [[nodiscard]] std::size_t records() const noexcept { return records_.size(); }
  [[nodiscard]] std::size_t configs() const noexcept;  // different ones alive

 private:
  struct Waiting {
    std::uint64_t record;
    base::TimePoint deadline;
    Taken done;
  };
  [[nodiscard]] std::vector<std::uint32_t> lacking(std::uint64_t record) const;

  std::unique_ptr<Published[]> cells_;
  std::uint32_t workers_;
  std::vector<bool> retired_;
  std::function<void(std::uint32_t)> wake_;
  std::deque<std::unique_ptr<const Record>> records_;   // oldest first; the last is current
  std::vector<std::shared_ptr<const Config>> configs_;  // oldest first
  std::vector<Waiting> waiting_;
  std::uint64_t number_ = 0;
  std::uint64_t table_taken_ = 0;
};

}  // namespace steelyard::proxy
