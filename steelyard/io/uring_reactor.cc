#include "steelyard/io/uring_reactor.h"

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "steelyard/io/clock.h"
#include "steelyard/io/errors.h"
#include "steelyard/io/look_ahead.h"

namespace steelyard::io {

namespace {

constexpr std::uint64_t kKindBits = 4;
// After an enter that could not submit, for want of memory or of room for completions.
constexpr Duration kTryAgain = std::chrono::milliseconds(1);

}  // namespace

class UringReactor::WatchHandle final : public Watch, public Pooled {
 public:
  WatchHandle(UringReactor& reactor, WatchSlot& slot) : reactor_(reactor), slot_(slot) {}
  WatchHandle(const WatchHandle&) = delete;
  WatchHandle& operator=(const WatchHandle&) = delete;
  ~WatchHandle() override {
    --reactor_.live_watches_;
    slot_.events = nullptr;
    slot_.gone = true;
    if (slot_.armed) {
      reactor_.cancel(name(Kind::kWatch, slot_.index, slot_.generation));
    } else {
      reactor_.watches_.give(slot_);
    }
  }

 private:
  UringReactor& reactor_;
  WatchSlot& slot_;
};

base::Result<std::unique_ptr<Reactor>> make_uring_reactor(const UringOptions& options) {
  return UringReactor::make(options);
}

base::Result<std::unique_ptr<Reactor>> UringReactor::make(const UringOptions& options) {
  auto ring = UringRing::make(options);
  if (!ring) return std::move(ring).error();
  auto made = std::make_unique<UringReactor>(std::move(*ring), options);
  if (!made->wake_.valid()) return system_error(errno, "make an eventfd");
  if (auto attached = made->buffers_.attach(*made->ring_); !attached) return attached.error();
  if (auto enabled = made->ring_->enable(); !enabled) return enabled.error();
  made->accept_pause_.take_reserve();
  return std::unique_ptr<Reactor>(std::move(made));
}

UringReactor::UringReactor(std::unique_ptr<UringRing> ring, const UringOptions& options)
    : now_(steady_now()),
      ring_(std::move(ring)),
      wake_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)),
      buffers_(options.buffers, options.buffer, slabs_) {}

UringReactor::~UringReactor() {
  mailbox_.take(tasks_);  // tasks that never ran die here, while everything they hold still exists
  tasks_.clear();
  if (operations_ == 0 && !wake_armed_ && ring_->all_submitted()) return;
  // The kernel must be done with our memory, and sockets closed, before the ring goes.
  io_uring_sqe& all = entry(IORING_OP_ASYNC_CANCEL, -1, 0);
  all.cancel_flags = IORING_ASYNC_CANCEL_ANY | IORING_ASYNC_CANCEL_ALL;
  const TimePoint give_up = steady_now() + std::chrono::seconds(5);
  while ((operations_ > 0 || wake_armed_) && steady_now() < give_up) {
    const int error = ring_->enter(1, std::chrono::milliseconds(10));
    if (error != 0 && error != EINTR && error != ETIME) break;  // a thread that is not its own
    settle_quick_sends();
    const unsigned count = ring_->completed();
    for (unsigned i = 0; i < count; ++i) dispatch(ring_->completion(i));
    ring_->let_go(count);
  }
}

std::uint64_t UringReactor::name(Kind kind, std::uint32_t index,
                                 std::uint32_t generation) noexcept {
  return (std::uint64_t{generation} << 32U) | (std::uint64_t{index} << kKindBits) |
         static_cast<std::uint64_t>(kind);
}

io_uring_sqe& UringReactor::entry(std::uint8_t opcode, int fd, std::uint64_t user_data) {
  io_uring_sqe& out = ring_->entry();
  out.opcode = opcode;
  out.fd = fd;
  out.user_data = user_data;
  return out;
}

void UringReactor::cancel(std::uint64_t user_data) {
  io_uring_sqe& sqe = entry(IORING_OP_ASYNC_CANCEL, -1, 0);
  sqe.flags = IOSQE_CQE_SKIP_SUCCESS;
  sqe.addr = user_data;
}

// With the next submission, behind the cancels of what is under way on it.
void UringReactor::close(Fd fd) {
  if (!fd.valid()) return;
  io_uring_sqe& sqe = entry(IORING_OP_CLOSE, fd.release(), 0);
  sqe.flags = IOSQE_CQE_SKIP_SUCCESS;
}

std::unique_ptr<Watch> UringReactor::watch(const Fd& fd, WatchEvents& events) {
  WatchSlot& slot = watches_.take();
  slot.fd = fd.get();
  slot.events = &events;
  slot.armed = slot.wanted = slot.gone = false;
  ++live_watches_;
  want(Kind::kWatch, slot);
  return std::unique_ptr<Watch>(new (handles_) WatchHandle(*this, slot));
}

// Outside a turn the cached time may be old, and a time-out counted from it would already be over.
TimePoint UringReactor::now() const noexcept { return running_ ? now_ : steady_now(); }

ReactorStats UringReactor::stats() const noexcept {
  return {.streams = live_streams_,
          .listeners = listeners_.in_use(),
          .timers = timers_.in_use(),
          .watches = live_watches_,
          .slab_bytes = slabs_.bytes_out(),
          .receive_bytes = buffers_.pinned(),
          .operations = operations_,
          .turns = turns_,
          .accept_pauses = accept_pause_.pauses()};
}

std::size_t UringReactor::trim(bool second) noexcept {
  assert(!running_ && "trim inside a turn");
  return streams_.trim(second) + listeners_.trim(second) + watches_.trim(second) +
         ops_.trim(second) + timers_.trim(second) + slabs_.trim(second);
}

void UringReactor::post(std::unique_ptr<Task> task) {
  if (!mailbox_.put(std::move(task))) return;
  const std::uint64_t one = 1;
  // Fails only when the counter is full, and then the event is pending anyway.
  [[maybe_unused]] const auto written = ::write(wake_.get(), &one, sizeof one);
}

void UringReactor::run_turn(TimePoint until) {
  assert(!running_ && "run_turn inside a callback");
  running_ = true;
  queue_wanted();
  buffers_.refill();
  wait(until);
  now_ = steady_now();
  ++turns_;
  settle_quick_sends();
  ready_.begin_turn();
  drain_ready();
  const unsigned count = ring_->completed();
  handle_looking_ahead(
      count, [this](unsigned i) { return slot_of(ring_->completion(i)); },
      [this](unsigned i) {
        const io_uring_cqe completion = ring_->completion(i);
        dispatch(completion);
        drain_ready();
      });
  ring_->let_go(count);
  receive_bulk();
  timers_.run(
      now_,
      [this](std::uint8_t kind, std::uint32_t owner, std::uint32_t generation) {
        on_due(static_cast<Kind>(kind), owner, generation);
      },
      [this] { drain_ready(); });
  if (std::exchange(woken_, false)) run_tasks();
  running_ = false;
}

void UringReactor::wait(TimePoint until) {
  Duration longest{0};
  // Quick sends are over once they are submitted, and what their on_sent brings may be more to do.
  if (ready_.empty() && bulk_.empty() && (quick_.empty() || stuck_)) {
    const TimePoint wake = std::min(until, timers_.next());
    const TimePoint from = steady_now();
    longest = wake == TimePoint::max() ? Duration::max() : wake <= from ? Duration(0) : wake - from;
    if (stuck_) longest = std::min(longest, kTryAgain);
  }
  // Without memory nothing is submitted, and the next turn tries again.
  (void)ring_->enter(1, longest);
}

void UringReactor::queue_wanted() {
  if (!wake_armed_) queue_wake_up();
  for (std::size_t i = 0; i < wanted_.size(); ++i) {
    const Ref ref = wanted_[i];
    if (ref.kind == Kind::kStream) {
      if (StreamSlot* const s = streams_.find(ref.index, ref.generation)) queue(*s);
    } else if (ref.kind == Kind::kListener) {
      if (ListenerSlot* const l = listeners_.find(ref.index, ref.generation)) queue(*l);
    } else if (WatchSlot* const w = watches_.find(ref.index, ref.generation)) {
      queue(*w);
    }
  }
  wanted_.clear();
}

void UringReactor::queue_wake_up() {
  io_uring_sqe& sqe = entry(IORING_OP_POLL_ADD, wake_.get(), name(Kind::kWake, 0, 0));
  sqe.poll32_events = POLLIN;
  sqe.len = IORING_POLL_ADD_MULTI;  // edge-triggered: nobody needs to read it
  wake_armed_ = true;
}

void UringReactor::queue(WatchSlot& w) {
  w.wanted = false;
  if (w.gone || w.armed) return;
  io_uring_sqe& sqe = entry(IORING_OP_POLL_ADD, w.fd, name(Kind::kWatch, w.index, w.generation));
  sqe.poll32_events = POLLIN;
  sqe.len = IORING_POLL_ADD_MULTI;
  w.armed = true;
  ++operations_;
}

void UringReactor::on_watch(const io_uring_cqe& completion, std::uint32_t index,
                            std::uint32_t generation) {
  WatchSlot* const w = watches_.find(index, generation);
  if (w == nullptr) return;
  if ((completion.flags & IORING_CQE_F_MORE) == 0) {
    w->armed = false;
    --operations_;
    if (w->gone) return watches_.give(*w);
    if (completion.res >= 0) want(Kind::kWatch, *w);
  }
  if (completion.res >= 0 && !w->gone) w->events->on_ready();
}

// What is known of quick sends once the enter is over: whatever did not report is done.
void UringReactor::settle_quick_sends() {
  if (quick_.empty()) return;
  const unsigned count = ring_->completed();
  for (unsigned i = 0; i < count; ++i) {
    const io_uring_cqe& completion = ring_->completion(i);
    if (static_cast<Kind>(completion.user_data & ((1U << kKindBits) - 1)) != Kind::kQuick) {
      continue;
    }
    const auto index =
        static_cast<std::uint32_t>((completion.user_data & 0xffffffffU) >> kKindBits);
    StreamSlot& s = streams_.at(index);  // it cannot have gone
    s.quick_failed = true;
    s.quick_result = completion.res;
  }
  stuck_ = !ring_->all_submitted() || ring_->overflowed();
  if (stuck_) return;
  settling_.swap(quick_);
  handle_looking_ahead(
      static_cast<unsigned>(settling_.size()), [this](unsigned i) { return settling_[i]; },
      [this](unsigned i) {
        StreamSlot& s = *settling_[i];
        on_sent(s, s.quick_failed ? s.quick_result : static_cast<std::int32_t>(s.sending));
        drain_ready();
      });
  settling_.clear();
}

// Whose a completion is, without touching the slot; nothing where it is no stream's.
UringReactor::StreamSlot* UringReactor::slot_of(const io_uring_cqe& completion) noexcept {
  const auto kind = static_cast<Kind>(completion.user_data & ((1U << kKindBits) - 1));
  if (kind != Kind::kReceive && kind != Kind::kSend) return nullptr;
  return streams_.peek(
      static_cast<std::uint32_t>((completion.user_data & 0xffffffffU) >> kKindBits));
}

void UringReactor::dispatch(const io_uring_cqe& completion) {
  const auto kind = static_cast<Kind>(completion.user_data & ((1U << kKindBits) - 1));
  const auto index = static_cast<std::uint32_t>((completion.user_data & 0xffffffffU) >> kKindBits);
  const auto generation = static_cast<std::uint32_t>(completion.user_data >> 32U);
  switch (kind) {
    case Kind::kReceive:
    case Kind::kSend:
    case Kind::kConnect:
    case Kind::kPoll:
      return dispatch_stream(kind, completion, index, generation);
    case Kind::kAccept:
      if (Op* const op = ops_.find(index, generation)) on_accepted(*op, completion.res);
      return;
    case Kind::kWatch:
      return on_watch(completion, index, generation);
    case Kind::kWake:
      woken_ = true;
      if ((completion.flags & IORING_CQE_F_MORE) == 0) wake_armed_ = false;
      return;
    default:  // a cancel that came late; quick sends are settled already
      return;
  }
}

void UringReactor::dispatch_stream(Kind kind, const io_uring_cqe& completion, std::uint32_t index,
                                   std::uint32_t generation) {
  StreamSlot* const s = streams_.find(index, generation);
  assert(s != nullptr && "a slot outlives its operations");
  if (s == nullptr) return;
  if (kind == Kind::kReceive) {
    on_received(*s, completion);
  } else if (kind == Kind::kSend) {
    on_sent(*s, completion.res);
  } else if (kind == Kind::kConnect) {
    on_connected(*s, completion.res);
  } else {
    on_poll(*s, completion.res);
  }
}

void UringReactor::drain_ready() {
  ready_.drain(streams_, listeners_, [this](auto& slot) { service(slot); });
}

// A deadline of the reactor's own: a connect takes too long, or accepting may be tried again.
void UringReactor::on_due(Kind kind, std::uint32_t owner, std::uint32_t generation) {
  if (kind == Kind::kListener) return resume_accepting();
  StreamSlot* const s = streams_.find(owner, generation);
  if (s == nullptr || s->gone || !s->connecting) return;
  s->connecting = false;
  if (s->outstanding > 0) cancel(name(Kind::kConnect, s->index, s->generation));
  fail(*s, ETIMEDOUT);
}

void UringReactor::run_tasks() {
  mailbox_.take(tasks_);
  for (auto& task : tasks_) {
    task->run();
    task.reset();
    drain_ready();
  }
  tasks_.clear();
}

}  // namespace steelyard::io
