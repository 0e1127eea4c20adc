#include "steelyard/io/pid_file.h"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <string_view>

#include "steelyard/io/file.h"
#include "steelyard/io/process.h"
#include "steelyard/io/same_file.h"

namespace steelyard::io {
namespace {

base::Error fault(base::Code code, std::string text) {
  return {code, base::Origin::kOperator, false, std::move(text)};
}

std::string_view name_of(std::string_view program) {
  return program.substr(program.rfind('/') + 1);
}

// 0: no process id.
int parse(std::string_view text) {
  while (text.ends_with('\n')) text.remove_suffix(1);
  int pid = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), pid);
  return failed == std::errc{} && end == text.data() + text.size() && pid > 1 ? pid : 0;
}

// By its file, or by a name: that of its file, or the one that `run` gives itself (a copy under
// another name, or one that an upgrade has replaced since). One that has ended and was not yet
// waited for keeps its name, but runs no program.
bool runs_us(int pid) {
  const auto program = program_of(pid);
  if (program.empty()) return false;
  if (same_file(fmt::format("/proc/{}/exe", process_id()), fmt::format("/proc/{}/exe", pid))) {
    return true;
  }
  if (name_of(program) == name_of(program_of(process_id()))) return true;
  const auto name = read_file(fmt::format("/proc/{}/comm", pid), 64);
  return name && *name == "steelyard\n";
}

}  // namespace

base::Result<int> running_process(const std::string& path) {
  const auto text = read_file(path, 64);
  if (!text) return text.error();
  const int pid = parse(*text);
  if (pid == 0) return fault(base::Code::kInvalid, path + " does not hold a process id");
  const auto program = program_of(pid);
  if (program.empty() || !runs_us(pid)) {
    return fault(base::Code::kNotFound,
                 fmt::format("process {} of {} {}", pid, path,
                             program.empty() ? "does not run" : "is not steelyard: " + program));
  }
  return pid;
}

base::Result<void> claim_pid_file(const std::string& path, std::span<const int> ours) {
  if (path.empty()) return {};
  const auto text = read_file(path, 64);
  const auto named = [](base::Error error) {
    error.text = "pid_file: " + error.text;
    return error;
  };
  if (!text && text.error().code != base::Code::kNotFound) return named(text.error());
  if (text && !text->empty()) {
    const int pid = parse(*text);
    if (pid == 0) {
      return fault(base::Code::kConflict,
                   fmt::format("pid_file {} exists and is no pid file (it holds no process id), "
                               "so it is left alone; remove it or name another",
                               path));
    }
    if (pid != process_id() && std::find(ours.begin(), ours.end(), pid) == ours.end() &&
        runs_us(pid)) {
      return fault(
          base::Code::kConflict,
          fmt::format("pid_file {} belongs to process {}, which runs steelyard: it serves, or was "
                      "stopped and still drains; stop it and wait, replace it without a gap "
                      "(steelyard -s upgrade), or give each its own pid_file",
                      path, pid));
    }
  }
  auto written = replace_file(path, fmt::format("{}\n", process_id()));
  if (!written) return named(written.error());
  return written;
}

void drop_pid_file(const std::string& path) {
  if (path.empty()) return;
  const auto text = read_file(path, 64);
  if (text && parse(*text) == process_id()) (void)remove_file(path);
}

}  // namespace steelyard::io
