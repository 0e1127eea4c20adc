#include <array>
#include <cerrno>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "steelyard/io/errors.h"
#include "steelyard/io/file.h"

namespace steelyard::io {

namespace {

std::string owner_in(const Fd& fd) {
  std::array<char, 512> room;
  const ssize_t got = ::pread(fd.get(), room.data(), room.size(), 0);
  std::string out(room.data(), got > 0 ? static_cast<std::size_t>(got) : 0);
  while (!out.empty() && (out.back() == '\n' || out.back() == '\0')) out.pop_back();
  return out;
}

// Whether the path still names the locked file: somebody may have removed it between our open and
// our lock.
bool still_there(const Fd& fd, const std::string& path) {
  struct stat locked{};
  struct stat named{};
  return ::fstat(fd.get(), &locked) == 0 && ::lstat(path.c_str(), &named) == 0 &&
         locked.st_ino == named.st_ino && locked.st_dev == named.st_dev;
}

}  // namespace

base::Result<LockFile> LockFile::acquire(const std::string& path, std::string_view owner) {
  constexpr int kTries = 10;
  for (int i = 0; i < kTries; ++i) {
    Fd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644));
    if (!fd.valid()) return system_error(errno, "lock " + path, base::Origin::kOperator);
    if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
      if (errno != EWOULDBLOCK) return system_error(errno, "lock " + path, base::Origin::kOperator);
      std::string holder = owner_in(fd);
      if (holder.empty()) holder = "another process";
      return base::Error{base::Code::kConflict, base::Origin::kOperator, false,
                         "lock " + path + ": it is held by " + holder};
    }
    if (!still_there(fd, path)) continue;
    std::string stale = owner_in(fd);
    const std::string text = std::to_string(::getpid()) + " " + std::string(owner) + "\n";
    if (::ftruncate(fd.get(), 0) != 0 ||
        ::pwrite(fd.get(), text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) {
      return system_error(errno, "write the owner into " + path);
    }
    return LockFile(std::move(fd), std::move(stale));
  }
  return base::Error{base::Code::kConflict, base::Origin::kOperator, false,
                     "lock " + path + ": somebody keeps removing it"};
}

LockFile::~LockFile() {
  if (fd_.valid()) [[maybe_unused]]
    const int done = ::ftruncate(fd_.get(), 0);
}

}  // namespace steelyard::io
