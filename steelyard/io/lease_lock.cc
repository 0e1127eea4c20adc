#include "steelyard/io/lease_lock.h"

#include <cerrno>
#include <fcntl.h>
#include <string>

#include "steelyard/io/errors.h"

namespace steelyard::io {
namespace {

bool set(const Fd& fd, short kind) noexcept {
  struct flock whole{};
  whole.l_type = kind;
  whole.l_whence = SEEK_SET;
  return fd.valid() && ::fcntl(fd.get(), F_OFD_SETLK, &whole) == 0;
}

}  // namespace

// Opened anew: the lock belongs to an open file, and duplicates are the same open file.
base::Result<LeaseLock> LeaseLock::on(const Fd& memory) {
  const std::string path = "/proc/self/fd/" + std::to_string(memory.get());
  Fd fd(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (!fd.valid()) return system_error(errno, "open the state's memory again");
  return LeaseLock(std::move(fd));
}

bool LeaseLock::take() noexcept { return set(fd_, F_WRLCK); }

void LeaseLock::release() noexcept { (void)set(fd_, F_UNLCK); }

}  // namespace steelyard::io
