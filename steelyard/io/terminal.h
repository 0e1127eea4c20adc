// What is known of the terminal a descriptor leads to.
#pragma once

#include <cstddef>

namespace steelyard::io {

[[nodiscard]] bool is_terminal(int fd) noexcept;
[[nodiscard]] std::size_t terminal_columns() noexcept;  // of standard output; 100 when unknown

[[nodiscard]] std::size_t terminal_rows() noexcept;  // 40 when unknown

}  // namespace steelyard::io
