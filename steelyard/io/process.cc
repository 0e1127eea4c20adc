#include "steelyard/io/process.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <sys/resource.h>
#include <unistd.h>

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

}  // namespace steelyard::io
