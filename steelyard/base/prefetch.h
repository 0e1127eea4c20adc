// Asks the processor to bring memory near that is read soon. Changes nothing; any address may be
// given.
#pragma once

#include <cstddef>

namespace steelyard::base {

template <std::size_t kBytes, typename T>
inline void prefetch(const T* at) noexcept {
  for (std::size_t i = 0; i < kBytes; i += 64) {
    __builtin_prefetch(reinterpret_cast<const std::byte*>(at) + i);
  }
}

template <typename T>
inline void prefetch(const T* at) noexcept {
  prefetch<sizeof(T)>(at);
}

}  // namespace steelyard::base
