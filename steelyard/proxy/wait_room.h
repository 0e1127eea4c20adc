// WaitRoom: wakes the exchanges of one worker that wait for a node (request::Queue), first come,
// first served.
//
// Looks when a token of this worker came back, when a new Table was taken, and every 5 ms while
// anybody waits: tokens of a node are shared, and other workers do not tell when they give one
// back. Owned by Core. Cost: a comparison while nobody waits.
#pragma once

#include <cstddef>
#include <memory>

#include "steelyard/io/reactor.h"
#include "steelyard/proxy/deferred.h"

namespace steelyard::proxy {

class Core;

class WaitRoom final : public Deferred, io::TimerEvents {
 public:
  explicit WaitRoom(Core& core);

  void entered() noexcept;
  void left() noexcept;
  void look() noexcept;  // soon, from a clean stack
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  void settle() noexcept override;

 private:
  void on_time() noexcept override;
  void arm() noexcept;

  Core& core_;
  std::unique_ptr<io::Timer> timer_;
  std::size_t size_ = 0;
  bool armed_ = false;
};

}  // namespace steelyard::proxy
