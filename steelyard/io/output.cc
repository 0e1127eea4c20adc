#include "steelyard/io/output.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <poll.h>
#include <unistd.h>

namespace steelyard::io {

bool write_without_waiting(int fd, std::string_view text) noexcept {
  while (!text.empty()) {
    pollfd ready{.fd = fd, .events = POLLOUT, .revents = 0};
    if (::poll(&ready, 1, 0) != 1 || (ready.revents & POLLOUT) == 0) return false;
    // A pipe that is ready takes PIPE_BUF bytes at once.
    const auto part = std::min<std::size_t>(text.size(), PIPE_BUF);
    const auto written = ::write(fd, text.data(), part);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace steelyard::io
