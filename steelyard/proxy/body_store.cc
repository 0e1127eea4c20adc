#include "steelyard/proxy/body_store.h"

#include <algorithm>
#include <cstring>

namespace steelyard::proxy {

bool BodyStore::add(io::Reactor& reactor, std::span<const std::byte> bytes, std::size_t expected) {
  if (size_ + bytes.size() > kMost) return false;
  while (!bytes.empty()) {
    if (count_ == 0 || parts_[count_ - 1].used == parts_[count_ - 1].whole.size()) {
      if (count_ == parts_.size()) return false;
      // Small bodies of known length get a slab of their size; else whole parts, so that few are
      // needed.
      const auto want = size_ == 0 ? std::max(bytes.size(), std::min(kPart, expected)) : kPart;
      auto slab = reactor.slab(std::min(want, kPart));
      Part& part = parts_[count_++];
      const auto capacity = slab.capacity();
      part.bytes = slab.data();
      part.whole = std::move(slab).take(capacity);
      part.used = 0;
    }
    Part& part = parts_[count_ - 1];
    const auto n = std::min(bytes.size(), part.whole.size() - part.used);
    std::memcpy(part.bytes + part.used, bytes.data(), n);
    part.used += n;
    size_ += n;
    bytes = bytes.subspan(n);
  }
  return true;
}

void BodyStore::clear() noexcept {
  for (std::size_t i = 0; i < count_; ++i) parts_[i] = {};
  count_ = size_ = 0;
}

}  // namespace steelyard::proxy
