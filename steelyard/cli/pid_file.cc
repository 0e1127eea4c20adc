#include "steelyard/cli/pid_file.h"

#include <charconv>
#include <fmt/format.h>
#include <string_view>

#include "steelyard/io/file.h"
#include "steelyard/io/process.h"

namespace steelyard::cli {
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

bool runs_us(int pid) {
  return name_of(io::program_of(pid)) == name_of(io::program_of(io::process_id()));
}

}  // namespace

base::Result<int> running_process(const std::string& path) {
  const auto text = io::read_file(path, 64);
  if (!text) return text.error();
  const int pid = parse(*text);
  if (pid == 0) return fault(base::Code::kInvalid, path + " does not hold a process id");
  const auto program = io::program_of(pid);
  if (program.empty() || !runs_us(pid)) {
    return fault(base::Code::kNotFound,
                 fmt::format("process {} of {} {}", pid, path,
                             program.empty() ? "does not run" : "is not steelyard: " + program));
  }
  return pid;
}

base::Result<void> claim_pid_file(const std::string& path) {
  if (path.empty()) return {};
  const auto text = io::read_file(path, 64);
  if (!text && text.error().code != base::Code::kNotFound) return text.error();
  if (text && !text->empty()) {
    const int pid = parse(*text);
    if (pid == 0) {
      return fault(base::Code::kConflict,
                   fmt::format("pid_file {} exists and is no pid file; it is left alone", path));
    }
    if (pid != io::process_id() && runs_us(pid)) {
      return fault(base::Code::kConflict,
                   fmt::format("pid_file {} belongs to process {}, which runs", path, pid));
    }
  }
  return io::replace_file(path, fmt::format("{}\n", io::process_id()));
}

void drop_pid_file(const std::string& path) {
  if (path.empty()) return;
  const auto text = io::read_file(path, 64);
  if (text && parse(*text) == io::process_id()) (void)io::remove_file(path);
}

}  // namespace steelyard::cli
