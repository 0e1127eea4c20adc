// Queue: the exchanges of one worker that wait for a node of one upstream, first come, first
// served.
//
// Intrusive: waiting allocates nothing. A Waiter leaves when it dies. One thread.
#pragma once

#include <cstddef>

namespace steelyard::request {

class Queue;

class Waiter {
 public:
  Waiter() = default;
  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;
  [[nodiscard]] bool waiting() const noexcept { return queue_ != nullptr; }

 protected:
  ~Waiter() { leave(); }
  void leave() noexcept;

 private:
  friend class Queue;
  Queue* queue_ = nullptr;
  Waiter* before_ = nullptr;
  Waiter* after_ = nullptr;
};

class Queue {
 public:
  Queue() = default;
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  void push(Waiter& waiter) noexcept {
    waiter.queue_ = this;
    waiter.before_ = last_;
    waiter.after_ = nullptr;
    (last_ != nullptr ? last_->after_ : first_) = &waiter;
    last_ = &waiter;
    ++size_;
  }
  void remove(Waiter& waiter) noexcept {
    (waiter.before_ != nullptr ? waiter.before_->after_ : first_) = waiter.after_;
    (waiter.after_ != nullptr ? waiter.after_->before_ : last_) = waiter.before_;
    waiter.queue_ = nullptr;
    waiter.before_ = waiter.after_ = nullptr;
    --size_;
  }
  [[nodiscard]] Waiter* first() const noexcept { return first_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] bool empty() const noexcept { return first_ == nullptr; }

 private:
  Waiter* first_ = nullptr;
  Waiter* last_ = nullptr;
  std::size_t size_ = 0;
};

inline void Waiter::leave() noexcept {
  if (queue_ != nullptr) queue_->remove(*this);
}

}  // namespace steelyard::request
