// EpollReactor: the inside of make_epoll_reactor (epoll.h); its parts are in epoll_reactor.cc (the
// turn), epoll_stream.cc, epoll_connect.cc and epoll_listener.cc.
//
// What the kernel can name (user_data) is {slot, kind, generation}, so events of closed sockets
// fall flat. Work that calls into io make (open, read after a grant, flush after a write, stop)
// waits in `ready_` and runs after the callback that made it returned (R1); what is over its turn's
// budget waits there for the next turn.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "steelyard/io/accept_pause.h"
#include "steelyard/io/buf_queue.h"
#include "steelyard/io/epoll.h"
#include "steelyard/io/handle_pool.h"
#include "steelyard/io/mailbox.h"
#include "steelyard/io/reactor.h"
#include "steelyard/io/ready_queue.h"
#include "steelyard/io/receive_blocks.h"
#include "steelyard/io/slab.h"
#include "steelyard/io/slot_stream.h"
#include "steelyard/io/slot_table.h"
#include "steelyard/io/timer_set.h"

struct epoll_event;

namespace steelyard::io {

class EpollReactor final : public Reactor {
 public:
  // Fails when the kernel gives no epoll or event descriptor.
  [[nodiscard]] static base::Result<std::unique_ptr<Reactor>> make(const EpollOptions& options);
  explicit EpollReactor(const EpollOptions& options);  // for `make`: it adds the descriptors
  EpollReactor(const EpollReactor&) = delete;
  EpollReactor& operator=(const EpollReactor&) = delete;
  ~EpollReactor() override;

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
  enum class Kind : std::uint8_t { kTimer, kStream, kListener, kWatch, kWake };

  struct alignas(64) StreamSlot {  // what each exchange needs comes first
    std::uint32_t index = 0;
    std::uint32_t generation = 0;
    Fd fd;
    int broken =
        0;  // errno of a failed send or connect, to report once what came before is delivered
    StreamEvents* events = nullptr;
    alignas(void*) std::byte handle[3 * sizeof(void*)];  // the Stream itself
    std::size_t credit = 0;
    std::size_t unsent = 0;
    bool queued : 1 = false;      // in ready_
    bool registered : 1 = false;  // with epoll
    bool ours : 1 = false;        // made by connect
    bool connecting : 1 = false;
    bool opening : 1 = false;  // on_open is due
    bool opened : 1 = false;   // on_open was called
    bool readable : 1 = false;
    bool to_end : 1 =
        false;  // FIN or an error is behind the bytes: a short read is not the end of it
    bool error : 1 = false;  // the kernel holds an error
    bool writable : 1 = false;
    bool ended : 1 = false;  // on_end was called
    bool end_wanted : 1 = false;
    bool end_sent : 1 = false;
    bool failed : 1 = false;     // on_failed was called
    std::uint32_t turn = 0;      // the two budgets are of this turn
    std::uint32_t received = 0;  // this turn
    std::uint32_t sent = 0;      // this turn
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
    std::uint32_t turn = 0;
    std::uint32_t accepted = 0;  // this turn
    Address local;               // invalid when the socket listens on every address
    bool queued = false;
    bool acceptable = false;
    bool paused = false;  // no descriptor is free
    bool stopping = false;
    bool stopped = false;
  };
  struct WatchSlot {
    std::uint32_t index = 0;
    std::uint32_t generation = 0;
    int fd = -1;  // borrowed
    WatchEvents* events = nullptr;
  };
  using Ref = SlotRef<Kind>;
  using StreamHandle = SlotStream<EpollReactor, StreamSlot>;
  friend StreamHandle;
  class ListenerHandle;
  class WatchHandle;

  // The turn.
  void wait(TimePoint until);
  void dispatch(const epoll_event& event);
  [[nodiscard]] static Kind kind_of(const epoll_event& event) noexcept;
  [[nodiscard]] StreamSlot* slot_of(const epoll_event& event) noexcept;
  void drain_ready();
  void on_due(Kind kind, std::uint32_t owner, std::uint32_t generation);
  void run_tasks();
  [[nodiscard]] bool enrol(int fd, std::uint32_t events, Ref ref);
  void enrol_surely(int fd, Ref ref);  // for input; later, if not now
  void enrol_again();

  // Streams. Those that call back say whether the stream still lives.
  void service(StreamSlot& s);
  [[nodiscard]] bool open(StreamSlot& s);
  [[nodiscard]] bool read_some(StreamSlot& s);
  [[nodiscard]] bool look_for_end(StreamSlot& s);
  [[nodiscard]] bool flush(StreamSlot& s);
  [[nodiscard]] bool settle_broken(StreamSlot& s);
  [[nodiscard]] bool fail(StreamSlot& s, int error);
  [[nodiscard]] long send_once(StreamSlot& s, std::size_t& asked);
  void renew_budget(StreamSlot& s) const noexcept;
  void release(StreamSlot& s) noexcept;
  void grant(StreamSlot& s, std::size_t bytes);
  void write(StreamSlot& s, Buf bytes);
  void end_write(StreamSlot& s);

  // Connecting.
  void start_connect(StreamSlot& s, const Address& to);
  [[nodiscard]] int open_socket(int family);
  void finish_connect(StreamSlot& s);

  // Listeners.
  void service(ListenerSlot& l);
  [[nodiscard]] bool accept_some(ListenerSlot& l);
  void fd_freed() noexcept;
  void resume_accepting();
  void release(ListenerSlot& l) noexcept;

  EpollOptions options_;
  TimePoint now_;
  std::uint32_t turn_ = 0;
  bool running_ = false;  // inside run_turn
  std::uint64_t turns_ = 0;
  Fd epoll_;
  Fd wake_;  // eventfd
  std::unique_ptr<epoll_event[]> batch_;
  int batched_ = 0;
  bool precise_wait_ = true;  // epoll_pwait2 exists

  SlabPool slabs_;
  ReceiveBlocks blocks_;
  HandlePool handles_;
  SlotTable<StreamSlot> streams_;
  SlotTable<ListenerSlot> listeners_;
  SlotTable<WatchSlot> watches_;
  TimerSet timers_;
  ReadyQueue<Kind> ready_;
  AcceptPause accept_pause_{static_cast<std::uint8_t>(Kind::kListener)};
  std::vector<Ref> unenrolled_;  // watches and listeners
  TimerNode retry_enrol_;
  Mailbox mailbox_;
  std::vector<std::unique_ptr<Task>> tasks_;

  int accepted_fd_ = -1;  // while on_accept runs: adopt of this descriptor knows its addresses
  Address accepted_remote_;
  Address accepted_local_;
};

}  // namespace steelyard::io
