#include "steelyard/io/log_file.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

namespace steelyard::io {
namespace {

base::Error refused(const std::string& path, std::string_view why,
                    base::Code code = base::Code::kInvalid) {
  return {.code = code,
          .origin = base::Origin::kOperator,
          .retry_safe = false,
          .text = "cannot log to " + path + ": " + std::string(why)};
}

base::Error refused_as(const std::string& path, int error) {
  const bool denied = error == EACCES || error == EPERM;
  return refused(path, std::strerror(error), denied ? base::Code::kDenied : base::Code::kInvalid);
}

// Without waiting for the reader of a FIFO, which is then refused like all that is no file.
constexpr int kFlags = O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;

base::Result<void> is_file(const Fd& file, const std::string& path) {
  struct stat is{};
  if (::fstat(file.get(), &is) != 0) return refused_as(path, errno);
  if (!S_ISREG(is.st_mode)) return refused(path, "it is not a regular file");
  return {};
}

}  // namespace

base::Result<LogFile> LogFile::open(const std::string& path) {
  if (path == "-") {
    Fd out(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3));
    if (!out.valid()) return refused(path, std::strerror(errno));
    return LogFile(std::move(out));
  }
  Fd file(::open(path.c_str(), kFlags | O_CREAT, 0640));
  if (!file.valid()) return refused_as(path, errno);
  if (auto good = is_file(file, path); !good) return good.error();
  return LogFile(std::move(file));
}

base::Result<void> LogFile::check(const std::string& path) {
  if (path == "-") return {};
  const Fd file(::open(path.c_str(), kFlags));
  if (file.valid()) return is_file(file, path);
  if (errno != ENOENT) return refused_as(path, errno);
  const auto slash = path.rfind('/');
  const auto directory = slash == path.npos ? "." : path.substr(0, slash + 1);
  if (::access(directory.c_str(), W_OK | X_OK) != 0) return refused_as(path, errno);
  return {};
}

std::size_t LogFile::write(std::string_view text) noexcept {
  if (torn_ && put("\n") == 0) return 0;
  torn_ = false;
  const auto wrote = put(text);
  torn_ = wrote > 0 && text[wrote - 1] != '\n';
  return wrote;
}

std::size_t LogFile::put(std::string_view text) noexcept {
  error_ = 0;
  std::size_t done = 0;
  while (done < text.size()) {
    const auto wrote = ::write(fd_.get(), text.data() + done, text.size() - done);
    if (wrote > 0) {
      done += static_cast<std::size_t>(wrote);
    } else if (wrote < 0 && errno == EAGAIN) {
      pollfd at{.fd = fd_.get(), .events = POLLOUT, .revents = 0};
      if (::poll(&at, 1, 1000) > 0) continue;
      error_ = EAGAIN;  // whoever reads standard output has stopped
      break;
    } else if (wrote == 0 || errno != EINTR) {
      error_ = wrote == 0 ? ENOSPC : errno;
      break;
    }
  }
  return done;
}

}  // namespace steelyard::io
