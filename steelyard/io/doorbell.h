// Doorbell: lets one thread sleep until another wants something of it, or some time has passed. For
// helper threads without a reactor.
//
// Rings before a wait are not lost, and any number of them count as one. Threads: `ring` any,
// `wait` one. Cost: one system call each. Where the system has no descriptor left when it is made,
// a ring is not heard and a wait takes 20 ms at most.
#pragma once

#include "steelyard/base/time.h"
#include "steelyard/io/fd.h"

namespace steelyard::io {

class Doorbell {
 public:
  Doorbell();
  void ring() const noexcept;
  void wait(base::Duration at_most) const noexcept;

 private:
  Fd event_;
};

}  // namespace steelyard::io
