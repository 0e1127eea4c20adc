#include "steelyard/io/epoll_reactor.h"

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "steelyard/io/clock.h"

namespace steelyard::io {

namespace {

constexpr std::uint64_t kKindBits = 4;
constexpr std::size_t kDrainLimit =
    16384;  // guess: callbacks that make work for ever must not stop the clock

timespec to_timespec(Duration wait) noexcept {
  const auto whole = std::chrono::floor<std::chrono::seconds>(wait);
  timespec out{};
  out.tv_sec = static_cast<time_t>(whole.count());
  out.tv_nsec = static_cast<long>((wait - whole).count());
  return out;
}

}  // namespace

void EpollReactor::die(const char* what) {
  std::perror(what);
  std::abort();
}

std::unique_ptr<Reactor> make_epoll_reactor(const EpollOptions& options) {
  return std::make_unique<EpollReactor>(options);
}

class EpollReactor::TimerHandle final : public Timer, public Pooled {
 public:
  TimerHandle(EpollReactor& reactor, TimerSlot& slot) : reactor_(reactor), slot_(slot) {}
  TimerHandle(const TimerHandle&) = delete;
  TimerHandle& operator=(const TimerHandle&) = delete;
  ~TimerHandle() override {
    reactor_.heap_.remove(slot_.node);
    slot_.firing = false;
    slot_.events = nullptr;
    reactor_.timers_.give(slot_);
  }
  void at(TimePoint when) noexcept override {
    slot_.firing = false;
    reactor_.heap_.set(slot_.node, when);
  }
  void cancel() noexcept override {
    slot_.firing = false;
    reactor_.heap_.cancel(slot_.node);
  }

 private:
  EpollReactor& reactor_;
  TimerSlot& slot_;
};

class EpollReactor::WatchHandle final : public Watch, public Pooled {
 public:
  WatchHandle(EpollReactor& reactor, WatchSlot& slot) : reactor_(reactor), slot_(slot) {}
  WatchHandle(const WatchHandle&) = delete;
  WatchHandle& operator=(const WatchHandle&) = delete;
  ~WatchHandle() override {
    ::epoll_ctl(reactor_.epoll_.get(), EPOLL_CTL_DEL, slot_.fd, nullptr);
    reactor_.watches_.give(slot_);
  }

 private:
  EpollReactor& reactor_;
  WatchSlot& slot_;
};

EpollReactor::EpollReactor(const EpollOptions& options)
    : options_(options),
      now_(steady_now()),
      epoll_(::epoll_create1(EPOLL_CLOEXEC)),
      wake_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)),
      reserve_(::open("/dev/null", O_RDONLY | O_CLOEXEC)),
      batch_(std::make_unique<epoll_event[]>(options.events)),
      blocks_(options.receive_block, options.lend_limit, slabs_) {
  if (!epoll_.valid()) die("steelyard: epoll_create1");
  if (!wake_.valid()) die("steelyard: eventfd");
  // Edge-triggered: each write to the eventfd is an event, and nobody needs to read it.
  if (!enrol(wake_.get(), EPOLLIN | EPOLLET, {Kind::kWake, 0, 0})) die("steelyard: epoll_ctl");
  retry_accept_.kind = static_cast<std::uint8_t>(Kind::kListener);
}

EpollReactor::~EpollReactor() {
  mailbox_.take(tasks_);  // tasks that never ran die here, while everything they hold still exists
  tasks_.clear();
}

bool EpollReactor::enrol(int fd, std::uint32_t events, Ref ref) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = (std::uint64_t{ref.generation} << 32U) |
                   (std::uint64_t{ref.index} << kKindBits) | static_cast<std::uint64_t>(ref.kind);
  return ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0;
}

std::unique_ptr<Timer> EpollReactor::timer(TimerEvents& events) {
  TimerSlot& slot = timers_.take();
  slot.events = &events;
  slot.node.owner = slot.index;
  slot.node.kind = static_cast<std::uint8_t>(Kind::kTimer);
  return std::unique_ptr<Timer>(new (handles_) TimerHandle(*this, slot));
}

std::unique_ptr<Watch> EpollReactor::watch(const Fd& fd, WatchEvents& events) {
  WatchSlot& slot = watches_.take();
  slot.fd = fd.get();
  slot.events = &events;
  // Out of memory or of user watches only: then nothing is ever reported, as documented for
  // start-up by `die`.
  if (!enrol(fd.get(), EPOLLIN | EPOLLET, {Kind::kWatch, slot.index, slot.generation})) {
    die("steelyard: watch a descriptor");
  }
  return std::unique_ptr<Watch>(new (handles_) WatchHandle(*this, slot));
}

// Outside a turn the cached time may be old, and a time-out counted from it would already be over.
TimePoint EpollReactor::now() const noexcept { return running_ ? now_ : steady_now(); }

ReactorStats EpollReactor::stats() const noexcept {
  return {.streams = streams_.in_use(),
          .listeners = listeners_.in_use(),
          .timers = timers_.in_use(),
          .watches = watches_.in_use(),
          .slab_bytes = slabs_.bytes_out(),
          .receive_bytes = blocks_.pinned(),
          .turns = turns_,
          .accept_pauses = accept_pauses_};
}

void EpollReactor::post(std::unique_ptr<Task> task) {
  if (!mailbox_.put(std::move(task))) return;
  const std::uint64_t one = 1;
  // Fails only when the counter is full, and then the event is pending anyway.
  [[maybe_unused]] const auto written = ::write(wake_.get(), &one, sizeof one);
}

void EpollReactor::run_turn(TimePoint until) {
  assert(!running_ && "run_turn inside a callback");
  running_ = true;
  wait(until);
  now_ = steady_now();
  ++turn_;
  ++turns_;
  ready_.insert(ready_.end(), later_.begin(), later_.end());
  later_.clear();
  drain_ready();
  bool woken = false;
  for (int i = 0; i < batched_; ++i) {
    const epoll_event& event = batch_[static_cast<std::size_t>(i)];
    if ((event.data.u64 & ((1U << kKindBits) - 1)) == static_cast<std::uint64_t>(Kind::kWake)) {
      woken = true;
      continue;
    }
    dispatch(event);
    drain_ready();
  }
  batched_ = 0;
  run_timers();
  if (woken) run_tasks();
  running_ = false;
}

void EpollReactor::wait(TimePoint until) {
  Duration longest{0};
  if (ready_.empty() && later_.empty()) {
    const TimePoint wake = std::min(until, heap_.next());
    const TimePoint from = steady_now();
    constexpr Duration kLongest = std::chrono::hours(1);
    longest = wake <= from ? Duration(0) : std::min(wake - from, kLongest);
  }
  const int most = static_cast<int>(options_.events);
  if (precise_wait_) {
    const timespec wait = to_timespec(longest);
    batched_ = ::epoll_pwait2(epoll_.get(), batch_.get(), most, &wait, nullptr);
    if (batched_ >= 0) return;
    batched_ = 0;
    if (errno != ENOSYS) return;
    precise_wait_ = false;  // a kernel before 5.11
  }
  const auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(longest).count();
  batched_ =
      std::max(0, ::epoll_wait(epoll_.get(), batch_.get(), most, static_cast<int>(milliseconds)));
}

void EpollReactor::dispatch(const epoll_event& event) {
  const auto kind = static_cast<Kind>(event.data.u64 & ((1U << kKindBits) - 1));
  const auto index = static_cast<std::uint32_t>((event.data.u64 & 0xffffffffU) >> kKindBits);
  const auto generation = static_cast<std::uint32_t>(event.data.u64 >> 32U);
  const std::uint32_t what = event.events;
  if (kind == Kind::kStream) {
    StreamSlot* const s = streams_.find(index, generation);
    if (s == nullptr) return;
    if ((what & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0) s->readable = true;
    if ((what & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0) s->to_end = true;
    if ((what & EPOLLERR) != 0) s->error = true;
    if ((what & (EPOLLOUT | EPOLLHUP | EPOLLERR)) != 0) s->writable = true;
    service(*s);
  } else if (kind == Kind::kListener) {
    ListenerSlot* const l = listeners_.find(index, generation);
    if (l == nullptr) return;
    l->acceptable = true;
    service(*l);
  } else if (kind == Kind::kWatch) {
    WatchSlot* const w = watches_.find(index, generation);
    if (w != nullptr) w->events->on_ready();
  }
}

void EpollReactor::drain_ready() {
  const std::size_t limit = ready_.size() + kDrainLimit;
  std::size_t done = 0;
  for (; done < ready_.size() && done < limit; ++done) {
    const Ref ref = ready_[done];
    if (ref.kind == Kind::kStream) {
      StreamSlot* const s = streams_.find(ref.index, ref.generation);
      if (s == nullptr) continue;
      s->queued = false;
      service(*s);
    } else {
      ListenerSlot* const l = listeners_.find(ref.index, ref.generation);
      if (l == nullptr) continue;
      l->queued = false;
      service(*l);
    }
  }
  ready_.erase(ready_.begin(), ready_.begin() + static_cast<std::ptrdiff_t>(done));
}

void EpollReactor::run_timers() {
  // All due ones first: a callback that arms a timer for now fires in the next turn, not in this
  // one for ever.
  while (TimerNode* const node = heap_.pop_due(now_)) {
    const auto kind = static_cast<Kind>(node->kind);
    if (kind == Kind::kTimer) {
      TimerSlot& slot = timers_.at(node->owner);
      slot.firing = true;
      due_.push_back({kind, slot.index, slot.generation});
    } else if (kind == Kind::kStream) {
      due_.push_back({kind, node->owner, streams_.at(node->owner).generation});
    } else {
      due_.push_back({kind, 0, 0});
    }
  }
  for (const Ref ref : due_) {
    if (ref.kind == Kind::kTimer) {
      TimerSlot* const slot = timers_.find(ref.index, ref.generation);
      if (slot == nullptr || !std::exchange(slot->firing, false)) continue;
      slot->events->on_time();
    } else if (ref.kind == Kind::kStream) {
      StreamSlot* const s = streams_.find(ref.index, ref.generation);
      if (s == nullptr || !s->connecting) continue;
      s->connecting = false;
      s->broken = ETIMEDOUT;
      service(*s);
    } else {
      resume_accepting();
    }
    drain_ready();
  }
  due_.clear();
}

void EpollReactor::run_tasks() {
  mailbox_.take(tasks_);
  for (auto& task : tasks_) {
    task->run();
    task.reset();
    drain_ready();
  }
  tasks_.clear();
}

}  // namespace steelyard::io
