// The program's own log: `time event key=value …`, one event a line, on stderr.
//
// Values with blanks, quotes or control bytes are quoted and escaped, so that one event is always
// one line. For events of the control thread (start, reload, decisions, drivers), never for
// requests. Threads: control.
#pragma once

#include <cstdio>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace steelyard::cli {

using LogFields = std::initializer_list<std::pair<std::string_view, std::string_view>>;

[[nodiscard]] std::string log_line(std::string_view time, std::string_view event, LogFields fields);

class Log {
 public:
  explicit Log(std::FILE* to) : to_(to) {}  // nullptr: silent
  void event(std::string_view event, LogFields fields) const;

 private:
  std::FILE* to_;
};

}  // namespace steelyard::cli
