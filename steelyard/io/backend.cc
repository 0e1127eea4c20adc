#include "steelyard/io/backend.h"

#include "steelyard/io/epoll.h"

namespace steelyard::io {

std::string_view to_text(Backend backend) noexcept {
  for (const auto& name : schema_names(backend)) {
    if (name.value == backend) return name.text;
  }
  return "unknown";
}

base::Result<BackendChoice> choose_backend(Backend wanted) {
  if (wanted == Backend::kEpoll) return BackendChoice{.reason = "as configured"};
  UringProbe probe = probe_uring();
  if (probe.usable) return BackendChoice{Backend::kUring, probe.wake, std::move(probe.reason)};
  if (wanted == Backend::kAuto) return BackendChoice{.reason = std::move(probe.reason)};
  return base::Error{.code = base::Code::kNotFound,
                     .origin = base::Origin::kOperator,
                     .retry_safe = false,
                     .text = "io: uring: " + probe.reason};
}

base::Result<std::unique_ptr<Reactor>> make_reactor(const BackendChoice& choice) {
  if (choice.backend == Backend::kUring) return make_uring_reactor({.wake = choice.wake});
  return open_epoll_reactor();
}

}  // namespace steelyard::io
