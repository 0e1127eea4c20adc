// Writing to a descriptor that somebody else reads, without ever waiting for them. Threads: any.
#pragma once

#include <string_view>

namespace steelyard::io {

// Writes `text` if the reader has room for it now (pipe, terminal, socket; files always have).
// False: not written, or not whole, because it would have had to wait or the reader is gone.
[[nodiscard]] bool write_without_waiting(int fd, std::string_view text) noexcept;

}  // namespace steelyard::io
