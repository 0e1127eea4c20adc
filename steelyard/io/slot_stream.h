// SlotStream: the Stream of a reactor that keeps its state in slots; it lives inside its slot, so a
// stream costs no allocation of its own.
//
// Slot has `std::byte handle[3 * sizeof(void*)]`, `fd` and `unsent`. Reactor has grant, write,
// end_write and release for it. The slot may serve a new stream as soon as it is released, so that
// comes last.
#pragma once

#include <cstddef>
#include <new>
#include <utility>

#include "steelyard/io/reactor.h"
#include "steelyard/io/socket.h"

namespace steelyard::io {

template <typename Reactor, typename Slot>
class SlotStream final : public Stream {
 public:
  SlotStream(Reactor& reactor, Slot& slot) : reactor_(reactor), slot_(slot) {}
  SlotStream(const SlotStream&) = delete;
  SlotStream& operator=(const SlotStream&) = delete;
  static void* operator new(std::size_t /*size*/, Slot& slot) noexcept {
    static_assert(sizeof(SlotStream) == sizeof slot.handle);
    return slot.handle;
  }
  static void operator delete(SlotStream* stream, std::destroying_delete_t) noexcept {
    Reactor& reactor = stream->reactor_;
    Slot& slot = stream->slot_;
    stream->~SlotStream();
    reactor.release(slot);
  }
  void grant(std::size_t bytes) noexcept override { reactor_.grant(slot_, bytes); }
  void write(Buf bytes) noexcept override { reactor_.write(slot_, std::move(bytes)); }
  [[nodiscard]] std::size_t unsent() const noexcept override { return slot_.unsent; }
  [[nodiscard]] std::size_t unconfirmed() const noexcept override {
    return slot_.unsent + unconfirmed_bytes(slot_.fd);
  }
  void end_write() noexcept override { reactor_.end_write(slot_); }

 private:
  Reactor& reactor_;
  Slot& slot_;
};

}  // namespace steelyard::io
