// AcceptPause: listeners that found no descriptor free. Their connections stay in the kernel's
// queue, and nobody spins: they are tried again when a descriptor was freed, and after kRetry.
//
// It holds one descriptor in reserve, for the connect of what was accepted last: given up then, and
// taken back before anybody may accept again. One thread.
#pragma once

#include <cstdint>
#include <fcntl.h>
#include <utility>
#include <vector>

#include "steelyard/io/fd.h"
#include "steelyard/io/slot_table.h"
#include "steelyard/io/timer_heap.h"

namespace steelyard::io {

class AcceptPause {
 public:
  // `kind` is that of the retry, for who runs the timers.
  explicit AcceptPause(std::uint8_t kind) noexcept { retry_.kind = kind; }

  // If there is a descriptor for it.
  void take_reserve() noexcept {
    if (!reserve_.valid()) reserve_ = Fd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  }
  [[nodiscard]] bool holds_reserve() const noexcept { return reserve_.valid(); }
  void give_up_reserve() noexcept { reserve_.reset(); }
  [[nodiscard]] bool waiting() const noexcept { return !paused_.empty() || !reserve_.valid(); }
  [[nodiscard]] std::uint64_t pauses() const noexcept { return pauses_; }

  template <typename Listener>
  void pause(Listener& listener, TimerHeap& timers, base::TimePoint now) {
    if (std::exchange(listener.paused, true)) return;
    ++pauses_;
    paused_.push_back({listener.index, listener.generation});
    timers.set(retry_, now + kRetry);
  }
  // The reserve first: accepting must not take what the accepted will need. `resume(listener)` for
  // each that may accept again.
  template <typename Listener, typename Resume>
  void try_again(SlotTable<Listener>& listeners, TimerHeap& timers, base::TimePoint now,
                 const Resume& resume) {
    take_reserve();
    if (!reserve_.valid()) {
      if (!paused_.empty()) timers.set(retry_, now + kRetry);
      return;
    }
    for (const auto& [index, generation] : paused_) {
      Listener* const listener = listeners.find(index, generation);
      if (listener == nullptr) continue;
      listener->paused = false;
      resume(*listener);
    }
    paused_.clear();
  }

 private:
  static constexpr base::Duration kRetry = std::chrono::milliseconds(100);  // others may free one

  Fd reserve_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> paused_;
  TimerNode retry_;
  std::uint64_t pauses_ = 0;
};

}  // namespace steelyard::io
