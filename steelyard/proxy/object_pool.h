// ObjectPool: the objects of one kind that a worker uses again and again, so that a steady load
// allocates nothing; what no load of the last minute needed is freed (base/surplus.h).
//
// T has a public `PoolLink<T> pooled`, which is the pool's. `trim` frees objects: only from a clean
// stack, when nothing can name one that was given back. The last one given back is taken first.
// Cost: O(1). Owned by one worker.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "steelyard/base/surplus.h"

namespace steelyard::proxy {

class Core;

template <typename T>
struct PoolLink {
  T* next = nullptr;      // of the free ones
  std::size_t place = 0;  // among all
};

template <typename T>
class ObjectPool {
 public:
  static constexpr std::size_t kFewest = 16;  // kept in any case; a guess

  [[nodiscard]] T& take(Core& core) {
    if (free_ == nullptr) return make(core);
    T& item = *free_;
    free_ = item.pooled.next;
    surplus_.taken(--free_count_);
    return item;
  }
  void give(T& item) noexcept {
    item.pooled.next = free_;
    free_ = &item;
    ++free_count_;
  }
  [[nodiscard]] std::size_t size() const noexcept { return all_.size(); }
  [[nodiscard]] const std::vector<std::unique_ptr<T>>& all() const noexcept { return all_; }

  // `second`: one has passed since the last time. At most `most` objects go; how many did.
  std::size_t trim(bool second, std::size_t most) noexcept {
    if (second) surplus_.look(free_count_);
    const std::size_t above = all_.size() - std::min(kFewest, all_.size());
    const std::size_t going = std::min({surplus_.count(), above, most});
    for (std::size_t i = 0; i < going; ++i) drop();
    surplus_.gone(going);
    if (second && all_.capacity() > 4 * std::max(all_.size(), kFewest)) all_.shrink_to_fit();
    return going;
  }

 private:
  T& make(Core& core) {
    surplus_.taken(0);
    all_.push_back(std::make_unique<T>(core));
    all_.back()->pooled.place = all_.size() - 1;
    return *all_.back();
  }
  void drop() noexcept {
    const T& item = *free_;
    const std::size_t place = item.pooled.place;
    free_ = item.pooled.next;
    --free_count_;
    std::swap(all_[place], all_.back());
    all_[place]->pooled.place = place;
    all_.pop_back();
  }

  std::vector<std::unique_ptr<T>> all_;
  T* free_ = nullptr;
  std::size_t free_count_ = 0;
  base::Surplus surplus_;
};

}  // namespace steelyard::proxy
