// The inside of make_sim_reactor (sim.h); its parts are in sim_reactor.cc (the turn), sim_stream.cc
// and sim_listener.cc.
//
// Handles are thin and pooled; what an operation needs sits in a record that events hold until the
// last completion.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "steelyard/io/handle_pool.h"
#include "steelyard/io/mailbox.h"
#include "steelyard/io/sim.h"
#include "steelyard/io/sim_net.h"
#include "steelyard/io/timer_set.h"

namespace steelyard::io {

// Counted storage between canaries; aborts when one was overwritten.
struct SimBlock : base::Storage {
  static SimBlock* make(std::size_t size, std::size_t& total);
  [[nodiscard]] std::byte* data() noexcept { return memory.get() + kCanary; }

  static constexpr std::size_t kCanary = 64;
  std::unique_ptr<std::byte[]> memory;
  std::size_t size = 0;
  std::size_t* total = nullptr;  // bytes of all blocks of a sort

 private:
  static void released(base::Storage* storage) noexcept;
};

class SimReactorImpl final : public SimReactor {
 public:
  explicit SimReactorImpl(const SimOptions& options);
  SimReactorImpl(const SimReactorImpl&) = delete;
  SimReactorImpl& operator=(const SimReactorImpl&) = delete;
  ~SimReactorImpl() override;

  [[nodiscard]] TimePoint now() const noexcept override { return now_; }
  [[nodiscard]] TimePoint woke() const noexcept override { return now_; }
  [[nodiscard]] std::unique_ptr<Stream> adopt(Fd socket, StreamEvents& events) override;
  [[nodiscard]] std::unique_ptr<Stream> connect(const Address& to, const ConnectOptions& options,
                                                StreamEvents& events) override;
  [[nodiscard]] std::unique_ptr<Listener> listen(const Fd& socket, AcceptEvents& events) override;
  [[nodiscard]] std::unique_ptr<Timer> timer(TimerEvents& events) override {
    return timers_.make(events);
  }
  [[nodiscard]] Slab slab(std::size_t bytes) override;
  [[nodiscard]] std::unique_ptr<Watch> watch(const Fd& fd, WatchEvents& events) override;
  [[nodiscard]] ReactorStats stats() const noexcept override;
  std::size_t trim(bool second) noexcept override { return timers_.trim(second); }
  void post(std::unique_ptr<Task> task) override { (void)mailbox_.put(std::move(task)); }
  void run_turn(TimePoint until) override;

  [[nodiscard]] Fd listener(const Address& address) override;
  [[nodiscard]] Address address_of(const Fd& socket) const override;
  [[nodiscard]] std::pair<Fd, Fd> pair() override;
  [[nodiscard]] std::unique_ptr<SimPeer> peer(Fd socket) override;
  [[nodiscard]] std::unique_ptr<SimPeer> dial(const Address& to) override;
  void blackhole(const Address& address) override { net_.blackhole(address); }
  void make_ready(const Fd& fd) override;
  [[nodiscard]] std::size_t outstanding() const override { return outstanding_; }

 private:
  struct StreamRecord {
    StreamEvents* events = nullptr;  // null: the handle is gone
    SimSocketPtr socket;
    std::size_t credit = 0;
    std::size_t unsent = 0;
    std::deque<Buf> out;
    std::deque<Buf> sending;    // what the outstanding send reads from
    Buf held;                   // received ahead of credit
    SimBlock* block = nullptr;  // of the outstanding receive
    Buf block_hold;             // keeps it
    bool ours = false;
    bool connecting = false;
    bool opened = false;
    bool send_out = false;  // a send is outstanding
    bool send_due = false;  // its completion is on its way
    bool receive_due = false;
    bool held_end = false;
    bool ended = false;
    bool end_wanted = false;
    bool end_sent = false;
    bool failed = false;
    bool flush_due = false;
    bool reset_due = false;
    bool hole = false;  // its connect never finishes by itself
  };
  using RecordPtr = std::shared_ptr<StreamRecord>;
  struct ListenerRecord {
    AcceptEvents* events = nullptr;
    SimSocketPtr socket;
    std::size_t credit = 0;
    std::size_t outstanding = 0;
    std::size_t due = 0;  // completions on their way
    bool stopping = false;
    bool stopped = false;
  };
  using ListenerPtr = std::shared_ptr<ListenerRecord>;
  struct WatchRecord {
    WatchEvents* events = nullptr;
    int fd = -1;
  };
  class StreamHandle;
  class ListenerHandle;
  class WatchHandle;
  class Peer;

  void opened(const RecordPtr& s);
  void changed(const RecordPtr& s);
  void submit_receive(const RecordPtr& s);
  void complete_receive(const RecordPtr& s);
  void deliver(const RecordPtr& s);
  void submit_send(const RecordPtr& s);
  void complete_send(const RecordPtr& s);
  void complete_connect(const RecordPtr& s, const Address& to);
  void fail_if_reset(const RecordPtr& s);
  void fail(const RecordPtr& s, base::Code code);
  void release(const RecordPtr& s) noexcept;
  void grant(const RecordPtr& s, std::size_t bytes);
  void write(const RecordPtr& s, Buf bytes);
  void flush_soon(const RecordPtr& s);

  void submit_accepts(const ListenerPtr& l);
  void complete_accept(const ListenerPtr& l);
  void stop(const ListenerPtr& l);
  void release(const ListenerPtr& l) noexcept;

  SimOptions options_;
  SimNet net_;
  TimePoint now_;
  HandlePool handles_;
  TimerSet timers_;
  Mailbox mailbox_;
  std::vector<std::unique_ptr<Task>> tasks_;
  std::vector<std::weak_ptr<WatchRecord>> watches_;
  std::size_t outstanding_ = 0;
  std::size_t streams_ = 0;
  std::size_t listeners_ = 0;
  std::size_t watch_count_ = 0;
  std::size_t slab_bytes_ = 0;
  std::size_t receive_bytes_ = 0;
  std::uint64_t turns_ = 0;
  bool running_ = false;
};

}  // namespace steelyard::io
