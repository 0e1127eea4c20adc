#include "steelyard/io/uring_buffers.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <new>
#include <sys/mman.h>
#include <utility>

#include "steelyard/io/poison.h"

namespace steelyard::io {

UringBuffers::UringBuffers(unsigned count, std::size_t size, SlabPool& slabs)
    : count_(count),
      size_(size),
      slabs_(slabs),
      level_(std::min(count, kFewest)),
      buffers_(std::make_unique<Buffer[]>(count)) {
  assert((count & (count - 1)) == 0 && count > 1);
  void* const memory = ::mmap(nullptr, count * (size + sizeof(io_uring_buf)),
                              PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  memory_ = static_cast<std::byte*>(memory);
  // What clients send is nobody's to find in a core file; and the mapping stays one of its own,
  // whose share of the memory smaps tells.
  ::madvise(memory, count * (size + sizeof(io_uring_buf)), MADV_DONTDUMP);
  ring_ = reinterpret_cast<io_uring_buf*>(memory_ + count * size);
  aside_.reserve(count);
  for (auto id = static_cast<std::uint16_t>(count); id-- > 0;) {
    buffers_[id].release = &released;
    buffers_[id].owner = this;
    buffers_[id].id = id;
    lay_aside(id);
    if (id >= level_) continue;
    unpoison(bytes(id), size_);
    std::memset(bytes(id), 0, size_);
    poison(bytes(id), size_);
    buffers_[id].touched = true;
  }
}

UringBuffers::~UringBuffers() {
  assert(lent_ == 0 && "Bufs of a reactor must die before it");
  unpoison(memory_, count_ * size_);
  ::munmap(memory_, count_ * (size_ + sizeof(io_uring_buf)));
}

base::Result<void> UringBuffers::attach(UringRing& ring) { return ring.add_buffers(ring_, count_); }

void UringBuffers::refill() noexcept {
  most_ = std::max(most_, level_ - std::min(level_, there_));
  if (taken_ + missed_ >= kWindow) adapt();
  while (there_ < level_ && !aside_.empty()) {
    give(aside_.back());
    aside_.pop_back();
  }
  idle_ = std::min(idle_, aside_.size());
}

void UringBuffers::adapt() noexcept {
  if (missed_ * 64 > taken_ + missed_) {
    level_ = std::min(2 * level_, count_);
  } else if (missed_ == 0 && most_ * 4 <= level_) {
    level_ = std::max(level_ / 2, std::min(count_, kFewest));
  }
  taken_ = missed_ = most_ = 0;
  if (++windows_ >= kPeriod) shrink();
}

void UringBuffers::shrink() noexcept {
  for (std::size_t i = 0; i < idle_; ++i) {
    Buffer& buffer = buffers_[aside_[i]];
    if (std::exchange(buffer.touched, false)) ::madvise(bytes(buffer.id), size_, MADV_DONTNEED);
  }
  idle_ = aside_.size();
  windows_ = 0;
}

void UringBuffers::unneeded(std::uint16_t id) noexcept {
  --there_;
  ++taken_;
  lay_aside(id);
}

base::Buf UringBuffers::lend(std::uint16_t id, std::size_t filled, std::uint8_t& pins) {
  --there_;
  ++taken_;
  unpoison(bytes(id), filled);
  if (lent_ >= count_ / 2 || pins >= kMostOfOne) {
    ++copies_;
    Slab copy = slabs_.take(filled);
    std::memcpy(copy.data(), bytes(id), filled);
    lay_aside(id);
    return std::move(copy).take(filled);
  }
  Buffer& buffer = buffers_[id];
  buffer.pins = &pins;
  ++pins;
  ++lent_;
  return base::Buf(&buffer, bytes(id), filled);
}

void UringBuffers::forget(const std::uint8_t& pins) noexcept {
  for (unsigned id = 0; pins > 0 && id < count_; ++id) {
    if (buffers_[id].pins == &pins) buffers_[id].pins = nullptr;
  }
}

void UringBuffers::released(base::Storage* storage) noexcept {
  auto* const buffer = static_cast<Buffer*>(storage);
  UringBuffers& owner = *buffer->owner;
  if (buffer->pins != nullptr) --*std::exchange(buffer->pins, nullptr);
  --owner.lent_;
  owner.lay_aside(buffer->id);
}

void UringBuffers::lay_aside(std::uint16_t id) noexcept {
  // What the kernel writes there is not seen by the sanitizer; what we still read is.
  poison(bytes(id), size_);
  aside_.push_back(id);
}

void UringBuffers::give(std::uint16_t id) noexcept {
  ++there_;
  buffers_[id].touched = true;
  // Not the whole entry: the ring's tail shares the last bytes of the first one.
  io_uring_buf& entry = ring_[tail_ & (count_ - 1)];
  entry.addr = reinterpret_cast<std::uint64_t>(bytes(id));
  entry.len = static_cast<std::uint32_t>(size_);
  entry.bid = id;
  std::atomic_ref(ring_[0].resv).store(++tail_, std::memory_order_release);
}

}  // namespace steelyard::io
