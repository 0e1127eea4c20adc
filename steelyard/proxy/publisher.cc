#include "steelyard/proxy/publisher.h"

#include <algorithm>
#include <cassert>
#include <limits>

namespace steelyard::proxy {

using base::TimePoint;

Publisher::Publisher(std::uint32_t workers, std::function<void(std::uint32_t)> wake)
    : cells_(std::make_unique<Published[]>(workers)),
      workers_(workers),
      retired_(workers, false),
      wake_(std::move(wake)) {}

Publisher::~Publisher() = default;

std::uint64_t Publisher::publish(std::shared_ptr<const Config> config,
                                 std::shared_ptr<const pick::Table> table) {
  assert(configs_.empty() || config->number >= configs_.back()->number);
  if (configs_.empty() || configs_.back() != config) configs_.push_back(config);
  records_.push_back(
      std::make_unique<const Record>(Record{++number_, std::move(config), std::move(table)}));
  for (std::uint32_t w = 0; w < workers_; ++w) {
    if (retired_[w]) continue;
    cells_[w].record.store(records_.back().get(), std::memory_order_release);
    wake_(w);
  }
  return number_;
}

void Publisher::retire(std::uint32_t worker) { retired_[worker] = true; }

std::vector<std::uint32_t> Publisher::lacking(std::uint64_t record) const {
  std::vector<std::uint32_t> silent;
  for (std::uint32_t w = 0; w < workers_; ++w) {
    if (!retired_[w] && cells_[w].taken.read() < record) silent.push_back(w);
  }
  return silent;
}

void Publisher::collect(TimePoint now) {
  auto taken = number_;
  auto oldest = std::numeric_limits<std::uint64_t>::max();
  for (std::uint32_t w = 0; w < workers_; ++w) {
    if (retired_[w]) continue;
    // In this order: a worker that has taken a record has named its Config before.
    taken = std::min(taken, cells_[w].taken.read());
    oldest = std::min(oldest, cells_[w].oldest_config.read());
  }
  while (records_.size() > 1 && records_.front()->number < taken) records_.pop_front();
  if (!records_.empty() && records_.front()->number <= taken) {
    table_taken_ = records_.front()->table->model->number;
    oldest = std::min(oldest, records_.front()->config->number);
  } else {
    oldest = 0;  // not every worker has taken a record: nothing is known of what they use
  }
  std::erase_if(configs_, [&](const auto& config) {
    return config->number < oldest && config != configs_.back();
  });
  for (std::size_t i = 0; i < waiting_.size();) {
    auto silent = lacking(waiting_[i].record);
    if (!silent.empty() && now < waiting_[i].deadline) {
      ++i;
      continue;
    }
    const Taken done = std::move(waiting_[i].done);
    waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(i));
    done(silent);  // may publish or wait again
  }
}

void Publisher::when_taken(std::uint64_t record, TimePoint deadline, Taken done) {
  waiting_.push_back({record, deadline, std::move(done)});
}

TimePoint Publisher::next_deadline() const noexcept {
  auto next = TimePoint::max();
  for (const auto& waiting : waiting_) next = std::min(next, waiting.deadline);
  return next;
}

std::size_t Publisher::configs() const noexcept { return configs_.size(); }

}  // namespace steelyard::proxy
