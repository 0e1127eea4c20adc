// Counts calls of the global operator new in this test binary.
#pragma once

#include <cstdint>

namespace steelyard::io {

[[nodiscard]] std::uint64_t allocations() noexcept;

}  // namespace steelyard::io
