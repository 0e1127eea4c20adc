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
#include "steelyard/io/errors.h"
#include "steelyard/io/look_ahead.h"
#include "steelyard/io/system_calls.h"

namespace steelyard::io {

namespace {

constexpr std::uint64_t kKindBits = 4;
constexpr Duration kRetryEnrol = std::chrono::milliseconds(10);

timespec to_timespec(Duration wait) noexcept {
  const auto whole = std::chrono::floor<std::chrono::seconds>(wait);
  timespec out{};
  out.tv_sec = static_cast<time_t>(whole.count());
  out.tv_nsec = static_cast<long>((wait - whole).count());
  return out;
}

}  // namespace

base::Result<std::unique_ptr<Reactor>> open_epoll_reactor(const EpollOptions& options) {
  return EpollReactor::make(options);
}

std::unique_ptr<Reactor> make_epoll_reactor(const EpollOptions& options) {
  auto made = open_epoll_reactor(options);
  if (made) return std::move(*made);
  (void)std::fprintf(stderr, "steelyard: %s\n", made.error().describe().c_str());
  std::_Exit(1);
}

base::Result<std::unique_ptr<Reactor>> EpollReactor::make(const EpollOptions& options) {
  auto made = std::make_unique<EpollReactor>(options);
  made->epoll_ = Fd(::epoll_create1(EPOLL_CLOEXEC));
  if (!made->epoll_.valid()) return system_error(errno, "make an epoll descriptor");
  made->wake_ = Fd(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (!made->wake_.valid()) return system_error(errno, "make an eventfd");
  // Edge-triggered: each write to the eventfd is an event, and nobody needs to read it.
  if (!made->enrol(made->wake_.get(), EPOLLIN | EPOLLET, {Kind::kWake, 0, 0})) {
    return system_error(errno, "watch an eventfd");
  }
  made->accept_pause_.take_reserve();
  return std::unique_ptr<Reactor>(std::move(made));
}

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
      batch_(std::make_unique<epoll_event[]>(options.events)),
      blocks_(options.receive_block, options.lend_limit, slabs_) {
  retry_enrol_.kind = static_cast<std::uint8_t>(Kind::kWatch);
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

// Edge-triggered: what is ready already is reported at once, so nothing is missed meanwhile.
void EpollReactor::enrol_surely(int fd, Ref ref) {
  if (enrol(fd, EPOLLIN | EPOLLET, ref)) return;
  unenrolled_.push_back(ref);
  timers_.heap().set(retry_enrol_, now() + kRetryEnrol);
}

void EpollReactor::enrol_again() {
  std::vector<Ref> again;
  again.swap(unenrolled_);
  for (const Ref ref : again) {
    if (ref.kind == Kind::kWatch) {
      if (const auto* const w = watches_.find(ref.index, ref.generation)) enrol_surely(w->fd, ref);
    } else if (const auto* const l = listeners_.find(ref.index, ref.generation)) {
      if (!l->stopping) enrol_surely(l->fd, ref);
    }
  }
}

std::unique_ptr<Watch> EpollReactor::watch(const Fd& fd, WatchEvents& events) {
  WatchSlot& slot = watches_.take();
  slot.fd = fd.get();
  slot.events = &events;
  enrol_surely(slot.fd, {Kind::kWatch, slot.index, slot.generation});
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
          .accept_pauses = accept_pause_.pauses()};
}

std::size_t EpollReactor::trim(bool second) noexcept {
  assert(!running_ && "trim inside a turn");
  return streams_.trim(second) + listeners_.trim(second) + watches_.trim(second) +
         timers_.trim(second) + slabs_.trim(second) + blocks_.trim(second);
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
  ready_.begin_turn();
  drain_ready();
  bool woken = false;
  handle_looking_ahead(
      static_cast<unsigned>(batched_), [this](unsigned i) { return slot_of(batch_[i]); },
      [this, &woken](unsigned i) {
        const epoll_event& event = batch_[i];
        if (kind_of(event) == Kind::kWake) {
          woken = true;
          return;
        }
        dispatch(event);
        drain_ready();
      });
  batched_ = 0;
  timers_.run(
      now_,
      [this](std::uint8_t kind, std::uint32_t owner, std::uint32_t generation) {
        on_due(static_cast<Kind>(kind), owner, generation);
      },
      [this] { drain_ready(); });
  if (woken) run_tasks();
  running_ = false;
}

void EpollReactor::wait(TimePoint until) {
  Duration longest{0};
  if (ready_.empty()) {
    const TimePoint wake = std::min(until, timers_.next());
    const TimePoint from = steady_now();
    constexpr Duration kLongest = std::chrono::hours(1);
    longest = wake <= from ? Duration(0) : std::min(wake - from, kLongest);
  }
  const int most = static_cast<int>(options_.events);
  if (precise_wait_) {
    const timespec wait = to_timespec(longest);
    batched_ = wait_for_events(epoll_.get(), batch_.get(), most, wait);
    if (batched_ >= 0) return;
    batched_ = 0;
    if (errno != ENOSYS) return;
    precise_wait_ = false;  // a kernel before 5.11
  }
  const auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(longest).count();
  batched_ =
      std::max(0, ::epoll_wait(epoll_.get(), batch_.get(), most, static_cast<int>(milliseconds)));
}

EpollReactor::Kind EpollReactor::kind_of(const epoll_event& event) noexcept {
  return static_cast<Kind>(event.data.u64 & ((1U << kKindBits) - 1));
}

// Whose an event is, without touching the slot; nothing where it is no stream's.
EpollReactor::StreamSlot* EpollReactor::slot_of(const epoll_event& event) noexcept {
  if (kind_of(event) != Kind::kStream) return nullptr;
  return streams_.peek(static_cast<std::uint32_t>((event.data.u64 & 0xffffffffU) >> kKindBits));
}

void EpollReactor::dispatch(const epoll_event& event) {
  const auto kind = kind_of(event);
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
  ready_.drain(streams_, listeners_, [this](auto& slot) { service(slot); });
}

// A deadline of the reactor's own: a connect takes too long, or accepting may be tried again.
void EpollReactor::on_due(Kind kind, std::uint32_t owner, std::uint32_t generation) {
  if (kind == Kind::kListener) return resume_accepting();
  if (kind == Kind::kWatch) return enrol_again();
  StreamSlot* const s = streams_.find(owner, generation);
  if (s == nullptr || !s->connecting) return;
  s->connecting = false;
  s->broken = ETIMEDOUT;
  service(*s);
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
