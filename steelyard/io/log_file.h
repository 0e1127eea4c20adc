// LogFile: a file that lines are appended to, or standard output.
//
// Opened with O_APPEND, so that several writers and `logrotate` get on; a new file has mode 0640.
// `write` blocks until everything is written: for a thread that may. Open a second one to reopen
// under the same name after a rotation. Threads: one.
#pragma once

#include <string>
#include <string_view>

#include "steelyard/base/result.h"
#include "steelyard/io/fd.h"

namespace steelyard::io {

class LogFile {
 public:
  LogFile() = default;  // takes nothing
  // `-` is standard output. A symlink in the last place, a directory or a device is refused.
  [[nodiscard]] static base::Result<LogFile> open(const std::string& path);

  // Whether `open` would do, as far as can be seen without making the file. kDenied: this user may
  // not.
  [[nodiscard]] static base::Result<void> check(const std::string& path);

  [[nodiscard]] bool is_open() const noexcept { return fd_.valid(); }
  // Whole lines. How many bytes of them were written; less than all when that failed (a full disk,
  // a closed pipe). Then `error` has the errno, and when a line was torn the next one begins on a
  // line of its own: what is torn cannot be taken back, since others may append too.
  [[nodiscard]] std::size_t write(std::string_view text) noexcept;
  [[nodiscard]] int error() const noexcept { return error_; }

 private:
  explicit LogFile(Fd fd) noexcept : fd_(std::move(fd)) {}
  [[nodiscard]] std::size_t put(std::string_view text) noexcept;

  Fd fd_;
  int error_ = 0;      // of the last write; 0: it went well
  bool torn_ = false;  // the last byte of ours ends no line
};

}  // namespace steelyard::io
