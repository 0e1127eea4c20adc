// Fd: owner of a file descriptor. Move-only; closes on destruction.
#pragma once

#include <utility>

namespace steelyard::io {

class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) noexcept : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    if (this != &other) {
      reset();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  ~Fd() { reset(); }

  [[nodiscard]] int get() const noexcept { return fd_; }
  [[nodiscard]] bool valid() const noexcept { return fd_ >= 0; }
  [[nodiscard]] int release() noexcept { return std::exchange(fd_, -1); }
  void reset() noexcept;  // closes; never leaks an error, close(2) is not retried

 private:
  int fd_ = -1;
};

// A second, close-on-exec descriptor of what `fd` describes; invalid (errno says why): none.
[[nodiscard]] Fd duplicate(const Fd& fd) noexcept;

}  // namespace steelyard::io
