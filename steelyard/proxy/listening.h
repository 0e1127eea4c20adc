// Listening: one listening socket of a worker and the state of its stopping.
//
// Open, it accepts by credit as long as the worker has room. Stopping takes three steps, so that
// nothing queued is lost: new connections are refused to the kernel's queue, the queue is accepted
// until it stays empty, then the reactor's listener is stopped, which still delivers what it has
// taken. Owned by Core; lives as long as connections came from it.
#pragma once

#include <cstddef>
#include <memory>

#include "steelyard/base/address.h"
#include "steelyard/io/reactor.h"
#include "steelyard/proxy/generations.h"

namespace steelyard::proxy {

class Core;

class Listening final : io::AcceptEvents {
 public:
  Listening(Core& core, const io::Fd& socket, const base::Address& address);

  void give(unsigned credit) noexcept;  // room for so many more
  void stop() noexcept;
  void hand_over() noexcept;    // another process accepts from the same queue
  void check_queue() noexcept;  // while stopping: on each beat of the worker's clock
  void give_up() noexcept;      // … it is too late for those who wait in the queue
  // Every kLook. A connection wakes one of all who share the queue, and when that one dies before
  // it accepts, nobody else is told. Who sees the queue stand still twice joins it anew, and so
  // finds what waits.
  void look() noexcept;
  static constexpr base::Duration kLook = std::chrono::milliseconds(250);
  [[nodiscard]] bool can_look() const noexcept { return can_look_; }

  [[nodiscard]] std::size_t most() const noexcept;  // connections of this worker's socket
  [[nodiscard]] unsigned given() const noexcept { return given_; }  // credit not yet used
  [[nodiscard]] bool open() const noexcept { return state_ == State::kOpen; }
  [[nodiscard]] bool emptying() const noexcept { return state_ == State::kEmptying; }
  [[nodiscard]] bool stopped() const noexcept { return state_ == State::kStopped; }
  [[nodiscard]] const base::Address& address() const noexcept { return address_; }

  // What its connections are served by: the current Config, or the last that had it.
  Generation* generation = nullptr;
  std::size_t place = 0;  // in that Config's listeners
  bool removed = false;   // the current Config has it no more
  std::size_t connections = 0;
  bool full = false;  // it let nobody in because of its limit

 private:
  enum class State : std::uint8_t { kOpen, kEmptying, kStopping, kStopped };
  static constexpr unsigned kQuietBeats =
      5;  // guess: 50 ms, longer than a handshake in a data centre

  void on_accept(io::Fd socket, const base::Address& peer) noexcept override;
  void on_stopped() noexcept override;

  Core& core_;
  const io::Fd& socket_;
  base::Address address_;
  std::unique_ptr<io::Listener> listener_;
  unsigned given_ = 0;
  unsigned quiet_ = 0;
  bool moved_ = false;     // somebody was accepted since the last look
  bool still_ = false;     // the queue stood still at the last look
  bool renewing_ = false;  // the reactor's listener is being replaced
  bool can_look_ = false;  // the kernel counts the queue
  State state_ = State::kOpen;
};

}  // namespace steelyard::proxy
