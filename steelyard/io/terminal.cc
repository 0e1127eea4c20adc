#include "steelyard/io/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

namespace steelyard::io {

bool is_terminal(int fd) noexcept { return ::isatty(fd) == 1; }

std::size_t terminal_columns() noexcept {
  winsize size{};
  return ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 100;
}

std::size_t terminal_rows() noexcept {
  winsize size{};
  return ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 ? size.ws_row : 40;
}

}  // namespace steelyard::io
