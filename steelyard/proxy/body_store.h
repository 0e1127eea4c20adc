// BodyStore: the beginning of a request's body, kept until a node can take it and while it may have
// to be sent again.
//
// Bytes are copied into slabs: keeping the received Bufs would pin a large receive block for each,
// however few bytes are in use. At most kMost bytes, which is the credit a stream begins with.
// Cost: a copy; slabs come from the reactor's pools.
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "steelyard/base/buf.h"
#include "steelyard/io/reactor.h"

namespace steelyard::proxy {

class BodyStore {
 public:
  static constexpr std::size_t kMost = std::size_t{64} << 10;

  // False, and nothing is kept of them, when they do not fit. `expected`: how many more are known
  // to come.
  bool add(io::Reactor& reactor, std::span<const std::byte> bytes, std::size_t expected);
  void clear() noexcept;
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  // Calls `give` with the kept bytes, in order, as Bufs of the store's own slabs.
  template <typename F>
  void each(F give) const {
    for (std::size_t i = 0; i < count_; ++i) give(parts_[i].whole.share(0, parts_[i].used));
  }

 private:
  static constexpr std::size_t kPart = std::size_t{16} << 10;
  struct Part {
    base::Buf whole;
    std::byte* bytes = nullptr;
    std::size_t used = 0;
  };
  std::array<Part, kMost / kPart + 1> parts_;
  std::size_t count_ = 0;
  std::size_t size_ = 0;
};

}  // namespace steelyard::proxy
