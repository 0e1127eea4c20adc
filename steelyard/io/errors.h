// Errors of system calls as base::Error: the code from errno, the text as "what: what errno means".
#pragma once

#include <string_view>

#include "steelyard/base/result.h"

namespace steelyard::io {

[[nodiscard]] base::Code code_of(int error) noexcept;
// `what` names the step and its object ("bind 0.0.0.0:80"); empty gives an Error without text,
// which allocates nothing.
[[nodiscard]] base::Error system_error(int error, std::string_view what,
                                       base::Origin origin = base::Origin::kUs);
// Takes the error that the kernel holds for a socket, as errno; 0: none.
[[nodiscard]] int take_socket_error(int fd) noexcept;

}  // namespace steelyard::io
