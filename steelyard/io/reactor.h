// Reactor: one event loop a thread; the only way to the kernel. Three back ends keep this contract
// and pass one conformance suite: epoll, io_uring and a simulated one (virtual time,
// scripted peers, seeded order, completion-shaped: operations outlive handles, accepts finish after
// `stop`).
//
// R1 No re-entry: no callback runs inside a call into io. Callbacks may destroy any handle, their
// own too. R2 Destroying a handle = cancel and forget: no callback after it. What the kernel may
// still touch (Buf, iovec, sockaddr,
//    fd) sits in reactor slots until the last completion. user_data = {slot, generation}, never a
//    pointer.
// R3 Reading and accepting are by credit. Never more is delivered than granted; io looks ahead one
// buffer at most. R4 Order: bytes*, then on_end or on_failed. FIN is not an error; failure after
// on_end is possible, then nothing. R5 Writes join: epoll flushes after each event, uring once a
// turn, but after the event what has come to 64 KiB; one send of at most 256 KiB outstanding per
// stream. R6 Zero credit: FIN behind undelivered bytes waits; RST fails at once and drops
// undelivered bytes; with credit, bytes come first.
// R7 stop() of a listener cancels; on_stopped follows the last accept; destroy it only then.
// R8 ~Stream resets, unless end_write was called and the kernel has taken everything: then it
// closes, and the kernel delivers the rest (bytes that nobody read make it a reset even so). HTTP
// lingers first where the peer may still send: end_write, then discard until on_end, at most 2 s or
// 64 KiB.
//
// Threads: made, run and destroyed on one thread; `post` alone may be called from another. All
// handles must be destroyed before their Reactor. Cost: no allocation for a stream's life after
// warm-up (handles are pooled), no lock but in `post`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "steelyard/base/address.h"
#include "steelyard/base/buf.h"
#include "steelyard/base/result.h"
#include "steelyard/base/time.h"
#include "steelyard/io/fd.h"

namespace steelyard::io {

using base::Address;
using base::Buf;
using base::Duration;
using base::Error;
using base::TimePoint;

// Freshly taken writable storage: fill `writable`, then `take` what was filled as a Buf. One
// thread, like Buf.
class Slab {
 public:
  Slab(base::Storage* storage, std::byte* data, std::size_t capacity) noexcept
      : whole_(storage, data, capacity), data_(data) {}
  [[nodiscard]] std::byte* data() noexcept { return data_; }
  [[nodiscard]] char* text() noexcept { return reinterpret_cast<char*>(data_); }
  [[nodiscard]] std::size_t capacity() const noexcept { return whole_.size(); }
  // The first `filled` bytes; the Slab is empty afterwards.
  [[nodiscard]] Buf take(std::size_t filled) && noexcept {
    whole_.trim_back(whole_.size() - filled);
    return std::move(whole_);
  }

 private:
  Buf whole_;
  std::byte* data_;
};

struct PeerInfo {  // TLS and PROXY fill in the rest
  Address remote;
  Address local;
  std::string_view alpn;
  std::string_view sni;
  bool tls = false;
};

class StreamEvents {  // a state machine; all noexcept
 public:
  virtual void on_open(const PeerInfo& peer) noexcept = 0;  // connected; for TLS after the
                                                            // handshake; also after adopt
  virtual void on_bytes(Buf bytes) noexcept = 0;
  virtual void on_end() noexcept = 0;  // peer's FIN; our side still writes
  virtual void on_sent(
      std::size_t bytes) noexcept = 0;  // the kernel took them, Bufs released: progress, low water
  virtual void on_failed(Error error) noexcept = 0;  // refused, reset, handshake, connect time-out;
                                                     // also at zero credit
  // Something comes for it in this turn, after a few others: the moment to prefetch what that will
  // touch. Called with the steps kSoonSteps - 1 down to 0, or not at all; what one step asked for
  // can be read in the next. Must change nothing.
  static constexpr unsigned kSoonSteps = 4;
  virtual void on_soon(unsigned /*step*/) const noexcept {}

 protected:
  ~StreamEvents() = default;
};

class Stream {  // a socket, TLS over a Stream, a simulated pipe: codecs and L4 see only this
 public:
  virtual ~Stream() = default;                         // abort and forget (R8: RST)
  virtual void grant(std::size_t bytes) noexcept = 0;  // adds up; none = back-pressure
  virtual void write(Buf bytes) noexcept = 0;  // takes it; never blocks, never completes inline
  [[nodiscard]] virtual std::size_t unsent()
      const noexcept = 0;  // the caller stops at its high-water mark
  // Those, and what the kernel has taken but the peer has not confirmed: what a reset now could
  // lose. A system call, for the end of a connection.
  [[nodiscard]] virtual std::size_t unconfirmed() const noexcept = 0;
  virtual void end_write() noexcept = 0;  // FIN (close_notify) behind the queue
};

class AcceptEvents {
 public:
  virtual void on_accept(Fd socket, const Address& peer) noexcept = 0;
  virtual void on_stopped() noexcept = 0;

 protected:
  ~AcceptEvents() = default;
};

class Listener {
 public:
  virtual ~Listener() = default;
  virtual void grant(unsigned n) noexcept = 0;
  virtual void stop() noexcept = 0;  // what was already taken still arrives
};

class TimerEvents {
 public:
  virtual void on_time() noexcept = 0;

 protected:
  ~TimerEvents() = default;
};

class Timer {
 public:
  virtual ~Timer() = default;
  virtual void at(TimePoint when) noexcept = 0;  // re-arms; one firing a call
  virtual void cancel() noexcept = 0;
};

class Task {  // work posted to a reactor's thread; runs once, then dies there
 public:
  virtual ~Task() = default;
  virtual void run() noexcept = 0;
};

class WatchEvents {
 public:
  virtual void on_ready() noexcept = 0;  // readable since the last call: read until it would block

 protected:
  ~WatchEvents() = default;
};

class Watch {  // readiness of any other descriptor (pidfd, signalfd, pipe, inotify); cold paths
               // only
 public:
  virtual ~Watch() = default;
};

// What a reactor holds at the moment, for metrics and tests.
struct ReactorStats {
  std::size_t streams = 0;
  std::size_t listeners = 0;
  std::size_t timers = 0;
  std::size_t watches = 0;
  std::size_t slab_bytes = 0;     // in Slabs and Bufs made of them
  std::size_t receive_bytes = 0;  // receive blocks pinned by Bufs
  std::size_t operations = 0;     // with the kernel, not completed (io_uring)
  std::uint64_t turns = 0;
  std::uint64_t accept_pauses = 0;  // times accepting paused because no descriptor was free
};

struct ConnectOptions {
  Duration timeout = std::chrono::seconds(1);
};

class Reactor {
 public:
  virtual ~Reactor() = default;
  [[nodiscard]] virtual TimePoint now() const noexcept = 0;  // read once a turn, fresh outside
  // When the last turn woke up: behind it good enough for what is done now and then, and no clock
  // is read.
  [[nodiscard]] virtual TimePoint woke() const noexcept = 0;
  [[nodiscard]] virtual std::unique_ptr<Stream> adopt(
      Fd socket, StreamEvents& events) = 0;  // handles are pooled
  [[nodiscard]] virtual std::unique_ptr<Stream> connect(const Address& to,
                                                        const ConnectOptions& options,
                                                        StreamEvents& events) = 0;
  [[nodiscard]] virtual std::unique_ptr<Listener> listen(const Fd& socket,
                                                         AcceptEvents& events) = 0;  // borrows
  [[nodiscard]] virtual std::unique_ptr<Timer> timer(TimerEvents& events) = 0;
  [[nodiscard]] virtual Slab slab(
      std::size_t bytes) = 0;  // writable bytes; counts against the worker's byte budget
  // Borrows `fd` (non-blocking) until the Watch is destroyed.
  [[nodiscard]] virtual std::unique_ptr<Watch> watch(const Fd& fd, WatchEvents& events) = 0;
  [[nodiscard]] virtual ReactorStats stats() const noexcept = 0;
  // Between turns: frees a little of what it keeps for reuse, where no load of the last minute
  // needed it; the bytes, 0 when nothing may go. `second`: one has passed since the last call that
  // said so.
  virtual std::size_t trim(bool second) noexcept = 0;
  virtual void post(std::unique_ptr<Task> task) = 0;  // the only call allowed from another thread
  virtual void run_turn(
      TimePoint until) = 0;  // waits at most until then; ≤ 256 KiB and 64 accepts an object
};

// Posts any callable as a Task.
template <typename F>
[[nodiscard]] std::unique_ptr<Task> make_task(F work) {
  struct Holder final : Task {
    explicit Holder(F f) : work(std::move(f)) {}
    void run() noexcept override { work(); }
    F work;
  };
  return std::make_unique<Holder>(std::move(work));
}

}  // namespace steelyard::io
