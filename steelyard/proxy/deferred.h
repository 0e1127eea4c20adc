// Deferred: what must be done from a clean stack. No codec or stream may be destroyed, and no codec
// resumed, inside one of its own calls; the object queues itself and is settled when the reactor's
// callback is about to return.
#pragma once

#include <cassert>

namespace steelyard::proxy {

class Deferred {
 public:
  virtual void settle() noexcept = 0;  // may destroy this object

 protected:
  Deferred() = default;
  ~Deferred() { assert(!queued_ && "what is queued must be settled first"); }

 private:
  friend class DeferredQueue;
  Deferred* next_ = nullptr;
  bool queued_ = false;
};

class DeferredQueue {
 public:
  void add(Deferred& item) noexcept {
    if (item.queued_) return;
    item.queued_ = true;
    item.next_ = nullptr;
    (last_ != nullptr ? last_->next_ : first_) = &item;
    last_ = &item;
  }
  // Until nothing is left, also what settling adds.
  void settle() noexcept {
    while (first_ != nullptr) {
      Deferred& item = *first_;
      first_ = item.next_;
      if (first_ == nullptr) last_ = nullptr;
      item.queued_ = false;
      item.settle();
    }
  }

 private:
  Deferred* first_ = nullptr;
  Deferred* last_ = nullptr;
};

}  // namespace steelyard::proxy
