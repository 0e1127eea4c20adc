// LeaseLock: the lease as the kernel keeps it: a lock on the state memory, which ends with the
// process that holds it.
//
// The supervisor says whose turn it is; who may act holds the lock besides. So when the supervisor
// is gone, and nobody is left to say it, engines still find out which one of them goes on. The lock
// belongs to this object: descriptors of the memory that are passed on do not carry it. One thread.
#pragma once

#include "steelyard/base/result.h"
#include "steelyard/io/fd.h"

namespace steelyard::io {

class LeaseLock {
 public:
  LeaseLock() = default;
  [[nodiscard]] static base::Result<LeaseLock> on(const Fd& memory);

  // True: it is ours, now or since before. False: another process holds it.
  [[nodiscard]] bool take() noexcept;
  void release() noexcept;

 private:
  explicit LeaseLock(Fd fd) noexcept : fd_(std::move(fd)) {}
  Fd fd_;
};

}  // namespace steelyard::io
