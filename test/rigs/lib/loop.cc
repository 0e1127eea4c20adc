#include "test/rigs/lib/loop.h"

#include <algorithm>
#include <array>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace steelyard::rigs {

Loop::Loop()
    : epoll_(::epoll_create1(EPOLL_CLOEXEC)), wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  add(wake_, EPOLLIN, [this](std::uint32_t) { run_posted(); });
}

Loop::~Loop() {
  ::close(epoll_);
  ::close(wake_);
}

void Loop::add(int fd, std::uint32_t events, Ready ready) {
  auto entry = std::make_shared<Entry>(Entry{++generation_, std::move(ready)});
  epoll_event event{};
  event.events = events;
  event.data.u64 =
      static_cast<std::uint64_t>(entry->generation) << 32U | static_cast<std::uint32_t>(fd);
  (void)::epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event);
  entries_[fd] = std::move(entry);
}

void Loop::change(int fd, std::uint32_t events) {
  const auto found = entries_.find(fd);
  if (found == entries_.end()) return;
  epoll_event event{};
  event.events = events;
  event.data.u64 =
      static_cast<std::uint64_t>(found->second->generation) << 32U | static_cast<std::uint32_t>(fd);
  (void)::epoll_ctl(epoll_, EPOLL_CTL_MOD, fd, &event);
}

void Loop::remove(int fd) {
  if (entries_.erase(fd) != 0) (void)::epoll_ctl(epoll_, EPOLL_CTL_DEL, fd, nullptr);
}

Loop::Timer Loop::at(Time when, std::function<void()> what) {
  const Timer timer{when, ++timer_count_};
  timers_.emplace(timer, std::move(what));
  return timer;
}

void Loop::post(std::function<void()> what) {
  {
    const std::lock_guard lock(mutex_);
    posted_.push_back(std::move(what));
  }
  wake();
}

void Loop::stop() {
  stop_ = true;
  wake();
}

void Loop::wake() const {
  const std::uint64_t one = 1;
  (void)!::write(wake_, &one, sizeof one);
}

void Loop::run_posted() {
  std::uint64_t count = 0;
  (void)!::read(wake_, &count, sizeof count);
  std::vector<std::function<void()>> calls;
  {
    const std::lock_guard lock(mutex_);
    calls.swap(posted_);
  }
  for (const auto& call : calls) call();
}

void Loop::run() {
  while (!stop_) turn(std::chrono::milliseconds(500));
  stop_ = false;
}

void Loop::run_until(Time end) {
  for (now_ = Clock::now(); now_ < end && !stop_;) turn(end - now_);
  stop_ = false;
}

void Loop::turn(Span most) {
  if (!timers_.empty()) most = std::min(most, timers_.begin()->first.first - now_);
  const auto us = std::chrono::duration_cast<std::chrono::microseconds>(most).count();
  timespec wait{};
  if (us > 0) wait = {us / 1000000, us % 1000000 * 1000};
  std::array<epoll_event, 256> batch;
  const int count =
      ::epoll_pwait2(epoll_, batch.data(), static_cast<int>(batch.size()), &wait, nullptr);
  now_ = Clock::now();
  for (int i = 0; i < count; ++i) {
    const auto& event = batch[static_cast<std::size_t>(i)];
    const auto found = entries_.find(static_cast<int>(event.data.u64 & 0xffffffffU));
    if (found == entries_.end() || found->second->generation != event.data.u64 >> 32U) continue;
    const auto entry = found->second;  // kept alive while it is called
    entry->ready(event.events);
  }
  while (!timers_.empty() && timers_.begin()->first.first <= now_) {
    const auto call = std::move(timers_.begin()->second);
    timers_.erase(timers_.begin());
    call();
  }
}

}  // namespace steelyard::rigs
