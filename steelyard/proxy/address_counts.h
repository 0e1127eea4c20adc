// AddressCounts: how many connections each client address has open, over all workers.
//
// Two rows of counters, each found by its own keyed hash of the address (IPv6: of its /64, which is
// what one client can use freely); the smaller of the two is the count. It never counts too little;
// it counts too much only for an address that meets busy ones in both rows, which a client cannot
// arrange without the seed. Cost: two atomic additions a connection. Memory: 256 KiB. Threads: any.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "steelyard/base/address.h"

namespace steelyard::proxy {

class AddressCounts {
 public:
  explicit AddressCounts(std::uint64_t seed) noexcept : seed_(seed) {}

  // False, and nothing is counted, when `limit` are open.
  bool enter(const base::Address& address, std::uint32_t limit) noexcept {
    const auto at = places(address);
    const auto a = rows_[0][at[0]].fetch_add(1, std::memory_order_relaxed);
    const auto b = rows_[1][at[1]].fetch_add(1, std::memory_order_relaxed);
    if (a < limit || b < limit) return true;
    leave(address);
    return false;
  }
  void leave(const base::Address& address) noexcept {
    const auto at = places(address);
    rows_[0][at[0]].fetch_sub(1, std::memory_order_relaxed);
    rows_[1][at[1]].fetch_sub(1, std::memory_order_relaxed);
  }

 private:
  static constexpr std::size_t kCells = std::size_t{1} << 15;

  [[nodiscard]] std::array<std::size_t, 2> places(const base::Address& address) const noexcept {
    std::uint64_t net = address.family() == base::Address::Family::kV6 ? 1 : 0;
    const std::size_t bytes = net == 1 ? 8 : 4;
    std::uint64_t hash = seed_ ^ net;
    for (std::size_t i = 0; i < bytes; ++i) hash = mix(hash ^ address.ip()[i]);
    return {static_cast<std::size_t>(hash % kCells),
            static_cast<std::size_t>((hash >> 32U) % kCells)};
  }
  static constexpr std::uint64_t mix(std::uint64_t z) noexcept {  // splitmix64
    z += 0x9e3779b97f4a7c15ULL;
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31U);
  }

  std::uint64_t seed_;
  std::array<std::array<std::atomic<std::uint32_t>, kCells>, 2> rows_{};
};

}  // namespace steelyard::proxy
