#include "steelyard/io/process.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "steelyard/io/file.h"

namespace steelyard::io {

int process_id() noexcept { return ::getpid(); }

unsigned long raise_descriptor_limit() noexcept {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  limit.rlim_cur = limit.rlim_max;
  (void)::setrlimit(RLIMIT_NOFILE, &limit);
  (void)::getrlimit(RLIMIT_NOFILE, &limit);
  return limit.rlim_cur;
}

std::string program_of(int pid) {
  const std::string link = "/proc/" + std::to_string(pid) + "/exe";
  std::array<char, 4096> target{};
  const auto size = ::readlink(link.c_str(), target.data(), target.size());
  std::string out(target.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
  // After an upgrade the file that still runs has lost its name.
  constexpr std::string_view kDeleted = " (deleted)";
  if (out.ends_with(kDeleted)) out.resize(out.size() - kDeleted.size());
  return out;
}

std::vector<std::string> arguments_of(int pid) {
  std::vector<std::string> out;
  const auto text = read_file("/proc/" + std::to_string(pid) + "/cmdline");
  std::string_view rest = text ? std::string_view(*text) : std::string_view();
  while (!rest.empty()) {
    const auto end = std::min(rest.find('\0'), rest.size());
    out.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return out;
}

std::string find_program(const std::string& called) {
  if (called.find('/') != std::string::npos) return called;
  const char* const paths = std::getenv("PATH");
  std::string_view rest = paths != nullptr && !called.empty() ? paths : "";
  while (!rest.empty()) {
    const auto end = std::min(rest.find(':'), rest.size());
    const std::string file = std::string(rest.substr(0, end)) + "/" + called;
    if (end > 0 && ::access(file.c_str(), X_OK) == 0) return file;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return program_of(::getpid());
}

base::Result<void> send_signal(int pid, int number) {
  if (::kill(pid, number) == 0) return {};
  const auto code = errno == ESRCH   ? base::Code::kNotFound
                    : errno == EPERM ? base::Code::kDenied
                                     : base::Code::kIo;
  return base::Error{.code = code,
                     .origin = base::Origin::kOperator,
                     .retry_safe = false,
                     .text = errno == ESRCH ? "no such process" : std::strerror(errno)};
}

std::string kernel_release() {
  utsname name{};
  return ::uname(&name) == 0 ? std::string(name.release) : "unknown";
}

}  // namespace steelyard::io
