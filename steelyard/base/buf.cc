#include "steelyard/base/buf.h"

#include <cstring>
#include <new>

namespace steelyard::base {

Buf Buf::heap_copy(std::string_view text) {
  void* const raw = ::operator new(sizeof(Storage) + text.size());
  auto* const storage =
      new (raw) Storage{.count = 0, .release = [](Storage* s) noexcept { ::operator delete(s); }};
  auto* const bytes = reinterpret_cast<std::byte*>(storage + 1);
  if (!text.empty()) std::memcpy(bytes, text.data(), text.size());
  return Buf(storage, bytes, text.size());
}

}  // namespace steelyard::base
