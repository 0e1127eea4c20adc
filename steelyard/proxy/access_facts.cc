#include "steelyard/proxy/access_facts.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>

namespace steelyard::proxy {
namespace {

// Everything but the texts, which follow it in this order.
struct Packed {
  AccessFacts facts;
  std::array<std::uint32_t, 7> sizes;
};
static_assert(std::is_trivially_copyable_v<Packed>);

std::array<std::string_view*, 7> texts_of(AccessFacts& facts) noexcept {
  return {&facts.head,        &facts.answer_head, &facts.upstream, &facts.node_name,
          &facts.pick_reason, &facts.reason,      &facts.detail};
}

std::size_t kept(std::string_view text) noexcept {
  return std::min(text.size(), AccessFacts::kMostHead);
}

}  // namespace

std::size_t AccessFacts::packed_size() const noexcept {
  return sizeof(Packed) + kept(head) + kept(answer_head) + kept(upstream) + kept(node_name) +
         kept(pick_reason) + kept(reason) + kept(detail);
}

void AccessFacts::pack(std::span<std::byte> to) const noexcept {
  Packed packed{*this, {}};
  std::byte* at = to.data() + sizeof packed;
  std::size_t i = 0;
  for (std::string_view* const text : texts_of(packed.facts)) {
    const std::size_t size = kept(*text);
    packed.sizes[i++] = static_cast<std::uint32_t>(size);
    if (size > 0) std::memcpy(at, text->data(), size);
    at += size;
    *text = {};  // no address leaves the worker
  }
  std::memcpy(to.data(), &packed, sizeof packed);
}

AccessFacts AccessFacts::unpack(std::span<const std::byte> from) noexcept {
  Packed packed;
  std::memcpy(&packed, from.data(), sizeof packed);
  const char* at = reinterpret_cast<const char*>(from.data()) + sizeof packed;
  std::size_t i = 0;
  for (std::string_view* const text : texts_of(packed.facts)) {
    *text = {at, packed.sizes[i]};
    at += packed.sizes[i++];
  }
  return packed.facts;
}

}  // namespace steelyard::proxy
