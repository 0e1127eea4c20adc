// Memory that the supervisor makes and engines use: the state that outlives an engine, and the
// pulse by which the supervisor sees that its loops turn. Both are sealed memfds, handed on as
// descriptors; no size can change under a mapping.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "steelyard/base/cell.h"
#include "steelyard/base/result.h"
#include "steelyard/base/time.h"
#include "steelyard/io/fd.h"

namespace steelyard::io {

// A mapped memfd; move-only.
class SharedMemory {
 public:
  [[nodiscard]] static base::Result<SharedMemory> create(const char* name, std::size_t bytes);
  // Of at least so many bytes, and sealed.
  [[nodiscard]] static base::Result<SharedMemory> attach(Fd fd, std::size_t bytes);
  SharedMemory(SharedMemory&& other) noexcept;
  SharedMemory& operator=(SharedMemory&&) = delete;
  ~SharedMemory();
  [[nodiscard]] const Fd& fd() const noexcept { return fd_; }
  [[nodiscard]] std::byte* data() const noexcept { return data_; }

 private:
  SharedMemory(Fd fd, std::byte* data, std::size_t bytes) noexcept
      : fd_(std::move(fd)), data_(data), bytes_(bytes) {}
  Fd fd_;
  std::byte* data_;
  std::size_t bytes_;
};

// The last whole text that was written (what engines have learned; the configuration they took),
// whatever becomes of the writer: two halves, written in turn, each with a number and a checksum.
// One writer at a time (who holds the lease), readers at any time. Cost of both: a pass over the
// bytes. Pages are touched as far as they are used.
class StateMemory {
 public:
  static constexpr std::size_t kMost = std::size_t{32} << 20;  // 8,192 nodes take about 2 MiB

  [[nodiscard]] static base::Result<StateMemory> create(const char* name = "steelyard-state");
  [[nodiscard]] static base::Result<StateMemory> attach(Fd fd);
  [[nodiscard]] const Fd& fd() const noexcept { return memory_.fd(); }
  bool write(std::string_view text) noexcept;  // false: larger than kMost
  [[nodiscard]] std::string read() const;      // empty: nothing was written
  // The process that was the last to say that it serves; 0: none has.
  [[nodiscard]] int serving() const noexcept;
  void set_serving(int pid) noexcept;

 private:
  struct Half;
  struct Head;
  explicit StateMemory(SharedMemory memory) noexcept : memory_(std::move(memory)) {}
  [[nodiscard]] Head& head() const noexcept;
  [[nodiscard]] Half& half(std::size_t index) const noexcept;
  [[nodiscard]] std::uint64_t valid(const Half& half, std::string* text) const;
  SharedMemory memory_;
};

// A cell a loop: control 0, worker i at i + 1. A loop beats on each turn and wakes at least once
// a second; a cell that does not move for seconds is a loop that stands still.
class Heartbeat {
 public:
  static constexpr unsigned kLoops = 1 + 1024;
  struct alignas(base::kCacheLine) Pulse {
    base::Cell<std::uint64_t> count;
    base::Cell<std::int32_t> thread;  // 0: no loop runs here
    void beat() noexcept { count.add(1); }
  };

  [[nodiscard]] static base::Result<Heartbeat> create();
  [[nodiscard]] static base::Result<Heartbeat> attach(Fd fd);
  [[nodiscard]] const Fd& fd() const noexcept { return memory_.fd(); }
  [[nodiscard]] Pulse& pulse(unsigned loop) const noexcept;

 private:
  explicit Heartbeat(SharedMemory memory) noexcept : memory_(std::move(memory)) {}
  SharedMemory memory_;
};

// Looks at a Heartbeat from time to time and finds loops that stand still.
class PulseWatch {
 public:
  // The thread of a loop that has not moved for `most`; 0: all turn. Looked at less often than
  // every `most` / 2 it knows nothing and begins anew: then its own process was stopped.
  [[nodiscard]] int stalled(const Heartbeat& heartbeat, base::TimePoint now,
                            base::Duration most) noexcept;
  void forget() noexcept { looked_ = {}; }

 private:
  struct Seen {
    std::uint64_t count = 0;
    base::TimePoint at{};
  };
  std::array<Seen, Heartbeat::kLoops> seen_{};
  base::TimePoint looked_{};
};

// A loop that beats for as long as it lives, on the thread that made it. Without a pulse: nothing.
class Beating {
 public:
  explicit Beating(Heartbeat::Pulse* pulse) noexcept;
  Beating(const Beating&) = delete;
  Beating& operator=(const Beating&) = delete;
  ~Beating();
  void beat() noexcept {
    if (pulse_ != nullptr) pulse_->beat();
  }

 private:
  Heartbeat::Pulse* pulse_;
};

}  // namespace steelyard::io
