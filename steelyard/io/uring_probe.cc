#include <array>
#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <string>
#include <sys/syscall.h>
#include <unistd.h>

#include "steelyard/io/errors.h"
#include "steelyard/io/process.h"
#include "steelyard/io/uring_buffers.h"
#include "steelyard/io/uring_ring.h"

namespace steelyard::io {

namespace {

// The sysctl that disables io_uring; -1: this kernel has none.
int disabled_level() noexcept {
  const Fd fd(::open("/proc/sys/kernel/io_uring_disabled", O_RDONLY | O_CLOEXEC));
  std::array<char, 16> text{};
  if (!fd.valid() || ::read(fd.get(), text.data(), text.size() - 1) <= 0) return -1;
  return std::atoi(text.data());
}

// Why the kernel gave no ring at all; empty when it gives one.
std::string why_none() {
  io_uring_params params{};
  const Fd fd(static_cast<int>(::syscall(__NR_io_uring_setup, 2, &params)));
  if (fd.valid()) return {};
  const int error = errno;
  const int level = disabled_level();
  if (error == EPERM && level > 0) {
    return "io_uring is disabled (kernel.io_uring_disabled is " + std::to_string(level) + ")";
  }
  if (error == EPERM) return "io_uring is forbidden here (a seccomp filter or security module)";
  if (error == ENOSYS) return "the kernel has no io_uring, or a seccomp filter hides it";
  return system_error(error, "io_uring cannot be made").text;
}

base::Result<void> try_ring(UringOptions::Wake wake) {
  auto ring = UringRing::make({.entries = 8, .completions = 16, .wake = wake});
  if (!ring) return std::move(ring).error();
  SlabPool slabs;
  UringBuffers buffers(2, 4096, slabs);
  if (auto attached = buffers.attach(**ring); !attached) return attached;
  if (auto enabled = (*ring)->enable(); !enabled) return enabled;
  return {};
}

}  // namespace

UringProbe probe_uring() {
  using Wake = UringOptions::Wake;
  if (std::string why = why_none(); !why.empty()) return {.reason = std::move(why)};
  struct Way {
    Wake wake;
    const char* text;
  };
  std::string first;
  for (const Way& way : {Way{Wake::kDeferred, "single issuer, deferred completions"},
                         Way{Wake::kCooperative, "cooperative completions (Linux before 6.1)"},
                         Way{Wake::kInterrupting, "plain completions (Linux before 5.19)"}}) {
    const auto tried = try_ring(way.wake);
    if (tried) return {.usable = true, .wake = way.wake, .reason = way.text};
    if (first.empty()) first = tried.error().describe();
  }
  return {.reason = first + " (Linux " + kernel_release() + ")"};
}

}  // namespace steelyard::io
