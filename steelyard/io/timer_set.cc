#include "steelyard/io/timer_set.h"

namespace steelyard::io {

class TimerSet::Handle final : public Timer, public Pooled {
 public:
  Handle(TimerSet& set, Slot& slot) : set_(set), slot_(slot) {}
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() override {
    set_.heap_.remove(slot_.node);
    slot_.firing = false;
    slot_.events = nullptr;
    set_.slots_.give(slot_);
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
  return std::unique_ptr<Timer>(new (handles_) Handle(*this, slot));
}

void TimerSet::collect(TimePoint now) {
  while (TimerNode* const node = heap_.pop_due(now)) {
    if (node->kind == kHandle) slots_.at(node->owner).firing = true;
    due_.push_back({node->owner, node->generation, node->kind});
  }
}

}  // namespace steelyard::io
