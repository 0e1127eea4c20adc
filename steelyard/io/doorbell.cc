#include "steelyard/io/doorbell.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace steelyard::io {

namespace {

constexpr auto kUnheard = std::chrono::milliseconds(20);  // a wait that no ring can end

}  // namespace

Doorbell::Doorbell() : event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

void Doorbell::ring() const noexcept {
  const std::uint64_t one = 1;
  (void)!::write(event_.get(), &one, sizeof one);  // full: it rings already
}

void Doorbell::wait(base::Duration at_most) const noexcept {
  if (!event_.valid()) at_most = std::min<base::Duration>(at_most, kUnheard);
  const auto ms = std::chrono::ceil<std::chrono::milliseconds>(at_most).count();
  pollfd at{.fd = event_.get(), .events = POLLIN, .revents = 0};
  if (::poll(&at, 1, static_cast<int>(std::clamp<std::int64_t>(ms, 0, 1'000'000))) <= 0) return;
  std::uint64_t rings = 0;
  (void)!::read(event_.get(), &rings, sizeof rings);
}

}  // namespace steelyard::io
