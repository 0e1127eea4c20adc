// How many times this test binary called operator new, for tests of paths that must not allocate.
#pragma once

#include <cstdint>

namespace steelyard::test {

[[nodiscard]] std::uint64_t allocations() noexcept;

}  // namespace steelyard::test
