#include "steelyard/io/fd.h"

#include <unistd.h>

namespace steelyard::io {

void Fd::reset() noexcept {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

}  // namespace steelyard::io
