#include "steelyard/io/fd.h"

#include <fcntl.h>
#include <unistd.h>

namespace steelyard::io {

void Fd::reset() noexcept {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

Fd duplicate(const Fd& fd) noexcept { return Fd(::fcntl(fd.get(), F_DUPFD_CLOEXEC, 0)); }

}  // namespace steelyard::io
