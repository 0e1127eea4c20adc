// DueList: objects that wait for the same length of time, in the order in which they began; the
// first is due first.
//
// Intrusive, so moving an object between lists costs a few stores and an idle object needs no timer
// of its own. An object is in at most one list of a kind of link, and must be taken out before it
// dies.
#pragma once

#include "steelyard/base/time.h"

namespace steelyard::proxy {

template <typename T>
struct DueLink {
  T* before = nullptr;
  T* after = nullptr;
  void* list = nullptr;  // in which it stands
  base::TimePoint since{};
};

template <typename T, DueLink<T> T::* kLink>
class DueList {
 public:
  DueList() = default;
  DueList(const DueList&) = delete;
  DueList& operator=(const DueList&) = delete;

  void push(T& item, base::TimePoint now) noexcept {
    auto& link = item.*kLink;
    link = {.before = last_, .after = nullptr, .list = this, .since = now};
    (last_ != nullptr ? (last_->*kLink).after : first_) = &item;
    last_ = &item;
    ++size_;
  }
  void remove(T& item) noexcept {
    auto& link = item.*kLink;
    (link.before != nullptr ? (link.before->*kLink).after : first_) = link.after;
    (link.after != nullptr ? (link.after->*kLink).before : last_) = link.before;
    link = {};
    --size_;
  }
  static void leave(T& item) noexcept {  // whichever it stands in
    if (auto* const list = static_cast<DueList*>((item.*kLink).list)) list->remove(item);
  }
  [[nodiscard]] bool holds(const T& item) const noexcept { return (item.*kLink).list == this; }
  [[nodiscard]] T* first() const noexcept { return first_; }  // waits longest
  [[nodiscard]] T* last() const noexcept { return last_; }    // came last
  [[nodiscard]] bool empty() const noexcept { return first_ == nullptr; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  // When the first one is due; max() when nobody waits.
  [[nodiscard]] base::TimePoint next(base::Duration wait) const noexcept {
    return first_ == nullptr ? base::TimePoint::max() : (first_->*kLink).since + wait;
  }

 private:
  T* first_ = nullptr;
  T* last_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace steelyard::proxy
