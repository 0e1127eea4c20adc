// BufQueue: the write queue of one stream, a ring of Bufs with room for a few inside the object.
//
// Growing keeps its larger ring for the next owner of the slot (up to kKeep entries), so that a
// warm reactor allocates nothing. Not movable. One thread.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include "steelyard/base/buf.h"

namespace steelyard::io {

class BufQueue {
 public:
  BufQueue() = default;
  BufQueue(const BufQueue&) = delete;
  BufQueue& operator=(const BufQueue&) = delete;

  [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
  [[nodiscard]] std::size_t size() const noexcept { return count_; }
  [[nodiscard]] base::Buf& at(std::size_t i) noexcept {
    return ring()[(head_ + i) & (capacity_ - 1)];
  }
  void push(base::Buf buf) {
    if (count_ == capacity_) grow();
    at(count_) = std::move(buf);
    ++count_;
  }
  base::Buf pop() noexcept {
    base::Buf out = std::move(at(0));
    head_ = (head_ + 1) & (capacity_ - 1);
    --count_;
    return out;
  }
  // Lets go of the first `bytes` bytes.
  void consume(std::size_t bytes) noexcept {
    while (bytes > 0) {
      base::Buf& first = at(0);
      if (first.size() > bytes) {
        first.trim_front(bytes);
        return;
      }
      bytes -= first.size();
      pop();
    }
  }
  void clear() noexcept {
    while (!empty()) pop();
    head_ = 0;
    if (capacity_ > kKeep) {
      more_.reset();
      capacity_ = kInside;
    }
  }

 private:
  static constexpr std::size_t kInside = 2;  // head and body
  static constexpr std::size_t kKeep = 64;

  [[nodiscard]] base::Buf* ring() noexcept { return more_ ? more_.get() : inside_; }
  void grow() {
    auto larger = std::make_unique<base::Buf[]>(capacity_ * 2);
    for (std::size_t i = 0; i < count_; ++i) larger[i] = std::move(at(i));
    more_ = std::move(larger);
    capacity_ *= 2;
    head_ = 0;
  }

  base::Buf inside_[kInside];
  std::unique_ptr<base::Buf[]> more_;
  std::size_t capacity_ = kInside;  // a power of two
  std::size_t head_ = 0;
  std::size_t count_ = 0;
};

}  // namespace steelyard::io
