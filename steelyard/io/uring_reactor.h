// UringReactor: the inside of make_uring_reactor (uring.h); its parts are in uring_reactor.cc (the
// turn), uring_stream.cc (life, receiving), uring_send.cc, uring_connect.cc and uring_listener.cc.
//
// Calls into io only note what is wanted and put the slot on `wanted_`; before the turn waits, each
// is looked at once and its operations are queued (R1, R5). At most one receive, send and watch of
// a stream is with the kernel. user_data is {kind, slot, generation}; a slot whose handle is gone
// lives on, silent, until its last completion (R2).
//
// Quick sends. A send that surely fits would complete while it is submitted and end the wait at
// once, for a report that nobody is waiting for. So small sends ask for no completion unless they
// fail or fall short, and never wait in the kernel (MSG_DONTWAIT): when the enter is over and
// nothing was reported, all of it was taken. A turn with quick sends does not wait, so that on_sent
// comes at once: under load there is enough to do anyway, and without load one more enter costs
// less than the timer that a bounded wait would arm.
//
// Bulk. A stream whose last receive was full is received from by a call, once a turn, and what is
// written in large pieces is sent by a call at once, if the last send was not short. So each piece
// leaves while it is in the cache; the ring would receive those of all streams before it sends the
// first. What such a call does not find, or cannot place, is left to the ring.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <sys/socket.h>
#include <sys/uio.h>
#include <vector>

#include "steelyard/io/accept_pause.h"
#include "steelyard/io/buf_queue.h"
#include "steelyard/io/handle_pool.h"
#include "steelyard/io/mailbox.h"
#include "steelyard/io/reactor.h"
#include "steelyard/io/ready_queue.h"
#include "steelyard/io/slab.h"
#include "steelyard/io/slot_stream.h"
#include "steelyard/io/slot_table.h"
#include "steelyard/io/sockaddr.h"
#include "steelyard/io/timer_set.h"
#include "steelyard/io/uring.h"
#include "steelyard/io/uring_buffers.h"
#include "steelyard/io/uring_ring.h"

namespace steelyard::io {

class UringReactor final : public Reactor {
 public:
  [[nodiscard]] static base::Result<std::unique_ptr<Reactor>> make(const UringOptions& options);
  UringReactor(std::unique_ptr<UringRing> ring, const UringOptions& options);
  UringReactor(const UringReactor&) = delete;
  UringReactor& operator=(const UringReactor&) = delete;
  ~UringReactor() override;

  [[nodiscard]] TimePoint now() const noexcept override;
  [[nodiscard]] TimePoint woke() const noexcept override { return now_; }
  [[nodiscard]] std::unique_ptr<Stream> adopt(Fd socket, StreamEvents& events) override;
  [[nodiscard]] std::unique_ptr<Stream> connect(const Address& to, const ConnectOptions& options,
                                                StreamEvents& events) override;
  [[nodiscard]] std::unique_ptr<Listener> listen(const Fd& socket, AcceptEvents& events) override;
  [[nodiscard]] std::unique_ptr<Timer> timer(TimerEvents& events) override {
    return timers_.make(events);
  }
  [[nodiscard]] Slab slab(std::size_t bytes) override { return slabs_.take(bytes); }
  [[nodiscard]] std::unique_ptr<Watch> watch(const Fd& fd, WatchEvents& events) override;
  [[nodiscard]] ReactorStats stats() const noexcept override;
  std::size_t trim(bool second) noexcept override;
  void post(std::unique_ptr<Task> task) override;
  void run_turn(TimePoint until) override;

 private:
  // Of slots (in wanted_, of timers) and of operations (in user_data).
  enum class Kind : std::uint8_t {
    kNone,  // the answer to a cancel or close; of timers: kHandle
    kStream,
    kListener,
    kWatch,
    kWake,
    kReceive,
    kSend,
    kQuick,
    kConnect,
    kPoll,
    kAccept,
  };
  using Parts = std::array<iovec, 16>;  // of one send
  struct Gathered {
    std::size_t count = 0;
    std::size_t bytes = 0;
  };
  // What one operation needs beside its stream: attached while it is with the kernel.
  struct Op {
    std::uint32_t index = 0;
    std::uint32_t generation = 0;
    std::uint32_t owner = 0;  // an accept's listener
    std::uint32_t owner_generation = 0;
    SocketAddress address;
    msghdr message{};
    Parts parts{};
  };
  struct alignas(64) StreamSlot {  // what each exchange needs comes first
    std::uint32_t index = 0;
    std::uint32_t generation = 0;
    Fd fd;
    int broken = 0;  // errno of a failed send or connect, told once what came before is delivered
    StreamEvents* events = nullptr;
    alignas(void*) std::byte handle[3 * sizeof(void*)];  // the Stream itself
    std::size_t credit = 0;
    std::size_t unsent = 0;
    std::uint8_t pins = 0;         // ring buffers lent of what came here
    std::uint8_t outstanding = 0;  // operations with the kernel
    bool gone : 1 = false;         // the handle is destroyed
    bool wanted : 1 = false;       // in wanted_
    bool queued : 1 = false;       // in ready_
    bool ours : 1 = false;         // made by connect
    bool connecting : 1 = false;
    bool opening : 1 = false;  // on_open is due
    bool opened : 1 = false;   // on_open was called
    bool receiving : 1 = false;
    bool sending_out : 1 = false;
    bool quick : 1 = false;  // the send that is out asks for no completion
    bool slow : 1 = false;   // the last send fell short: the next one waits in the kernel
    bool quick_failed : 1 = false;
    bool polling : 1 = false;
    bool fin_behind : 1 = false;  // the peer's FIN is behind bytes without credit
    bool hung_up : 1 = false;     // nothing more can happen to the socket
    bool poll_first : 1 = false;  // there was no buffer: only when bytes are there again
    bool full : 1 = false;        // the last receive filled its space: more is likely there
    bool in_bulk : 1 = false;     // in bulk_
    bool ended : 1 = false;       // on_end was called
    bool end_wanted : 1 = false;
    bool end_sent : 1 = false;
    bool failed : 1 = false;        // on_failed was called
    std::uint32_t sending = 0;      // bytes of the send that is with the kernel
    std::int32_t quick_result = 0;  // of a quick send that failed or fell short
    Op* op = nullptr;               // of the connect or the send
    BufQueue out;
    TimerNode connect_timer;
    Address remote;
    Address local;
  };
  struct ListenerSlot {
    std::uint32_t index = 0;
    std::uint32_t generation = 0;
    int fd = -1;  // borrowed
    AcceptEvents* events = nullptr;
    std::size_t credit = 0;
    std::array<Op*, 4> accepts{};  // with the kernel (what is accepted but not answered is lost
                                   // in a crash, so few)
    unsigned outstanding = 0;
    Address local;  // invalid when the socket listens on every address
    bool wanted = false;
    bool queued = false;
    bool paused = false;  // no descriptor is free
    bool broken = false;
    bool stopping = false;
    bool stopped = false;
  };
  struct WatchSlot {
    std::uint32_t index = 0;
    std::uint32_t generation = 0;
    int fd = -1;  // borrowed
    WatchEvents* events = nullptr;
    bool armed = false;
    bool wanted = false;
    bool gone = false;
  };
  using Ref = SlotRef<Kind>;
  using StreamHandle = SlotStream<UringReactor, StreamSlot>;
  friend StreamHandle;
  class ListenerHandle;
  class WatchHandle;

  // The turn.
  void queue_wanted();
  void wait(TimePoint until);
  void settle_quick_sends();
  void dispatch_stream(Kind kind, const io_uring_cqe& completion, std::uint32_t index,
                       std::uint32_t generation);
  void dispatch(const io_uring_cqe& completion);
  [[nodiscard]] StreamSlot* slot_of(const io_uring_cqe& completion) noexcept;
  void drain_ready();
  void on_due(Kind kind, std::uint32_t owner, std::uint32_t generation);
  void run_tasks();
  void on_watch(const io_uring_cqe& completion, std::uint32_t index, std::uint32_t generation);
  void queue(WatchSlot& w);
  void queue_wake_up();
  template <typename Slot>
  void want(Kind kind, Slot& slot);  // looked at before the wait
  [[nodiscard]] io_uring_sqe& entry(std::uint8_t opcode, int fd, std::uint64_t user_data);
  void cancel(std::uint64_t user_data);
  void close(Fd fd);
  [[nodiscard]] static std::uint64_t name(Kind kind, std::uint32_t index,
                                          std::uint32_t generation) noexcept;

  // Streams. Those that call back say whether the stream still lives.
  [[nodiscard]] StreamSlot& take_stream(StreamEvents& events);
  [[nodiscard]] static bool lives(const StreamSlot& s, std::uint32_t generation) noexcept {
    return s.generation == generation && !s.gone;
  }
  void queue(StreamSlot& s);
  void service(StreamSlot& s);
  [[nodiscard]] bool open(StreamSlot& s);
  void queue_receive(StreamSlot& s);
  void on_received(StreamSlot& s, const io_uring_cqe& completion);
  void deliver(StreamSlot& s, Buf bytes);
  void deliver_end(StreamSlot& s);
  void receive_bulk();
  void receive_directly(StreamSlot& s, std::size_t room);
  void queue_poll(StreamSlot& s);
  void on_poll(StreamSlot& s, std::int32_t events);
  void look_for_end(StreamSlot& s);
  void fail(StreamSlot& s, int error);
  void release(StreamSlot& s) noexcept;
  [[nodiscard]] bool completed(StreamSlot& s) noexcept;  // one operation less; false: gone
  void free(StreamSlot& s) noexcept;
  void settle_broken(StreamSlot& s);
  void grant(StreamSlot& s, std::size_t bytes);

  // Sending.
  void write(StreamSlot& s, Buf bytes);
  void end_write(StreamSlot& s);
  [[nodiscard]] static Gathered gather(StreamSlot& s, Parts& parts) noexcept;
  void queue_send(StreamSlot& s);
  void on_sent(StreamSlot& s, std::int32_t result);
  [[nodiscard]] static bool sends_directly(const StreamSlot& s) noexcept;
  void send_directly(StreamSlot& s);
  void took(StreamSlot& s, std::int32_t result);
  void break_off(StreamSlot& s, int error);
  void free_op(StreamSlot& s) noexcept;

  // Connecting.
  void start_connect(StreamSlot& s, const Address& to);
  [[nodiscard]] int open_socket(int family);
  void on_connected(StreamSlot& s, std::int32_t result);

  // Listeners.
  void queue(ListenerSlot& l);
  void service(ListenerSlot& l);
  void on_accepted(Op& op, std::int32_t result);
  void stop(ListenerSlot& l);
  void fd_freed() noexcept;
  void resume_accepting();
  void release(ListenerSlot& l) noexcept;

  TimePoint now_;
  bool running_ = false;  // inside run_turn
  std::uint64_t turns_ = 0;
  std::unique_ptr<UringRing> ring_;
  Fd wake_;                     // eventfd
  std::size_t operations_ = 0;  // with the kernel, without the wake-up
  bool wake_armed_ = false;
  bool woken_ = false;

  SlabPool slabs_;
  UringBuffers buffers_;
  HandlePool handles_;
  SlotTable<StreamSlot> streams_;
  SlotTable<ListenerSlot> listeners_;
  SlotTable<WatchSlot> watches_;
  SlotTable<Op> ops_;
  TimerSet timers_;
  std::size_t live_streams_ = 0;
  std::size_t live_watches_ = 0;
  std::vector<Ref> wanted_;
  std::vector<Ref> bulk_;  // streams whose last receive was full
  std::vector<Ref> bulk_now_;
  ReadyQueue<Kind> ready_;
  AcceptPause accept_pause_{static_cast<std::uint8_t>(Kind::kListener)};
  bool stuck_ = false;              // the last enter could not submit all
  std::vector<StreamSlot*> quick_;  // with a quick send that is not known to be over
  std::vector<StreamSlot*> settling_;
  Mailbox mailbox_;
  std::vector<std::unique_ptr<Task>> tasks_;

  int accepted_fd_ = -1;  // while on_accept runs: adopt of this descriptor knows its addresses
  Address accepted_remote_;
  Address accepted_local_;
};

template <typename Slot>
void UringReactor::want(Kind kind, Slot& slot) {
  if (slot.wanted) return;
  slot.wanted = true;
  wanted_.push_back({kind, slot.index, slot.generation});
}

}  // namespace steelyard::io
