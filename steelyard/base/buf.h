// Buf: a move-only part of counted storage. Bytes that only pass through are never copied: they
// travel as Bufs.
//
// Storage is a header in front of (or pointing at) bytes, with a plain count and a release function
// of its owner (receive ring slot, slab, heap, static text). One thread: a Buf is made, shared and
// destroyed on the thread that owns the storage. `share` pins the whole storage, so for less than 2
// KiB a copy (`Slab`) is cheaper. Cost: share and destroy are one increment or decrement. The
// storage must outlive its Bufs; `release` runs when the last one goes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

namespace steelyard::base {

struct Storage {
  std::uint32_t count = 0;
  void (*release)(Storage*) noexcept =
      nullptr;  // called at count 0; nullptr: nothing to do (static)
};

class Buf {
 public:
  Buf() = default;
  Buf(Storage* storage, const std::byte* data, std::size_t size) noexcept
      : at_(storage), data_(data), size_(size) {
    if (at_ != nullptr) ++at_->count;
  }
  Buf(Buf&& other) noexcept
      : at_(std::exchange(other.at_, nullptr)),
        data_(std::exchange(other.data_, nullptr)),
        size_(std::exchange(other.size_, 0)) {}
  Buf& operator=(Buf&& other) noexcept {
    if (this != &other) {
      drop();
      at_ = std::exchange(other.at_, nullptr);
      data_ = std::exchange(other.data_, nullptr);
      size_ = std::exchange(other.size_, 0);
    }
    return *this;
  }
  Buf(const Buf&) = delete;
  Buf& operator=(const Buf&) = delete;
  ~Buf() { drop(); }

  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return {data_, size_}; }
  [[nodiscard]] std::string_view text() const noexcept {
    return {reinterpret_cast<const char*>(data_), size_};
  }
  [[nodiscard]] const std::byte* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  // A second owner of bytes [from, from + size) of this Buf.
  [[nodiscard]] Buf share(std::size_t from, std::size_t size) const noexcept {
    return Buf(at_, data_ + from, size);
  }
  [[nodiscard]] Buf share() const noexcept { return share(0, size_); }
  void trim_front(std::size_t n) noexcept {
    data_ += n;
    size_ -= n;
  }
  void trim_back(std::size_t n) noexcept { size_ -= n; }

  static Buf heap_copy(std::string_view text);  // own heap storage; for cold paths and tests
  static Buf of_static(std::string_view text) noexcept {  // text with static lifetime
    return Buf(nullptr, reinterpret_cast<const std::byte*>(text.data()), text.size());
  }

 private:
  void drop() noexcept {
    if (at_ != nullptr && --at_->count == 0 && at_->release != nullptr) at_->release(at_);
    at_ = nullptr;
  }
  Storage* at_ = nullptr;
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace steelyard::base
