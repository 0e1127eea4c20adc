#include "steelyard/io/timer_set.h"

#include <new>

#include "steelyard/io/poison.h"

namespace steelyard::io {

class TimerSet::Handle final : public Timer {
 public:
  Handle(TimerSet& set, Slot& slot) : set_(set), slot_(slot) {}
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  static void* operator new(std::size_t /*size*/, Slot& slot) noexcept {
    static_assert(sizeof(Handle) == sizeof slot.handle);
    unpoison(slot.handle, sizeof slot.handle);
    return slot.handle;
  }
  static void operator delete(Handle* handle, std::destroying_delete_t) noexcept {
    TimerSet& set = handle->set_;
    Slot& slot = handle->slot_;
    handle->~Handle();
    poison(slot.handle, sizeof slot.handle);
    set.heap_.remove(slot.node);
    slot.firing = false;
    slot.events = nullptr;
    set.slots_.give(slot);
  }
  void at(TimePoint when) noexcept override {
    slot_.firing = false;
    set_.heap_.set(slot_.node, when);
  }
  void cancel() noexcept override {
    slot_.firing = false;
    set_.heap_.cancel(slot_.node);
  }

 private:
  TimerSet& set_;
  Slot& slot_;
};

std::unique_ptr<Timer> TimerSet::make(TimerEvents& events) {
  Slot& slot = slots_.take();
  slot.events = &events;
  slot.node.owner = slot.index;
  slot.node.generation = slot.generation;
  slot.node.kind = kHandle;
  return std::unique_ptr<Timer>(new (slot) Handle(*this, slot));
}

void TimerSet::collect(TimePoint now) {
  while (TimerNode* const node = heap_.pop_due(now)) {
    if (node->kind == kHandle) slots_.at(node->owner).firing = true;
    due_.push_back({node->owner, node->generation, node->kind});
  }
}

}  // namespace steelyard::io
