// One thread's event loop for the rigs: descriptors, timers and calls from other threads.
//
// Level-triggered epoll. A callback may add and remove descriptors, its own included; events of a
// removed descriptor that are already in the batch are dropped. Threads: one, except `post` and
// `stop`.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace steelyard::rigs {

using Clock = std::chrono::steady_clock;
using Time = Clock::time_point;
using Span = Clock::duration;

class Loop {
 public:
  using Ready = std::function<void(std::uint32_t events)>;
  using Timer = std::pair<Time, std::uint64_t>;

  Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;
  ~Loop();

  void add(int fd, std::uint32_t events, Ready ready);
  void change(int fd, std::uint32_t events);
  void remove(int fd);  // before the descriptor is closed

  Timer at(Time when, std::function<void()> what);
  Timer after(Span delay, std::function<void()> what) { return at(now_ + delay, std::move(what)); }
  void cancel(const Timer& timer) { timers_.erase(timer); }
  // In this turn, after what runs now: to destroy what is being called.
  void later(std::function<void()> what) { (void)at(Time{}, std::move(what)); }

  // From any thread.
  void post(std::function<void()> what);
  void stop();

  void run();                                      // until `stop`
  void run_until(Time end);                        // or `stop`
  [[nodiscard]] Time now() const { return now_; }  // of this turn

 private:
  struct Entry {
    std::uint32_t generation;
    Ready ready;
  };
  void turn(Span most);
  void wake() const;
  void run_posted();

  int epoll_, wake_;
  Time now_ = Clock::now();
  std::uint32_t generation_ = 0;
  std::uint64_t timer_count_ = 0;
  std::unordered_map<int, std::shared_ptr<Entry>> entries_;
  std::map<Timer, std::function<void()>> timers_;
  std::mutex mutex_;
  std::vector<std::function<void()>> posted_;
  std::atomic<bool> stop_{false};
};

}  // namespace steelyard::rigs
