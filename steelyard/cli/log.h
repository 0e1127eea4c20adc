// The program's own log: `time event key=value …`, one event a line, on stderr.
//
// Never waits for its reader: a line that finds no room (a stopped terminal, a stuck pipe) is
// dropped and counted, and the next line that gets through is followed by the count. Values with
// blanks, quotes or control bytes are quoted and escaped, so that one event is always one line. For
// events of the control thread (start, reload, decisions, drivers), never for requests. Threads:
// control.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace steelyard::cli {

using LogFields = std::initializer_list<std::pair<std::string_view, std::string_view>>;

[[nodiscard]] std::string log_line(std::string_view time, std::string_view event, LogFields fields);

class Log {
 public:
  explicit Log(int fd) : fd_(fd) {}  // borrowed; -1: silent
  void event(std::string_view event, LogFields fields);
  [[nodiscard]] std::uint64_t dropped() const noexcept { return dropped_; }

 private:
  int fd_;
  std::uint64_t dropped_ = 0;
  std::uint64_t told_ = 0;  // of the dropped
};

}  // namespace steelyard::cli
