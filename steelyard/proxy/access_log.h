// AccessLog: the access log of all workers: a ring for each of them and one thread that makes lines
// of what comes through them and writes these in large pieces.
//
// A worker copies what an exchange tells (access_facts.h) into its ring, which costs it a copy of
// the request's head and some 200 bytes more; finding fields in the head, redacting and formatting
// happen on the writer's thread, so the request path pays for none of it and never waits. A ring
// that is full because the disk is slow drops what comes and counts it. Lines are written within
// about 200 ms, or when a ring is half full.
//
// Threads: `note` the worker whose ring it is; everything else control. Must outlive the workers;
// the destructor writes what is left.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "steelyard/base/byte_ring.h"
#include "steelyard/base/cell.h"
#include "steelyard/base/result.h"
#include "steelyard/http/access_log.h"
#include "steelyard/io/doorbell.h"
#include "steelyard/io/log_file.h"
#include "steelyard/io/thread.h"
#include "steelyard/proxy/access_facts.h"
#include "steelyard/proxy/options.h"

namespace steelyard::proxy {

// The worker's end.
class AccessRing {
 public:
  AccessRing(std::size_t bytes, const io::Doorbell& bell) : ring_(bytes), bell_(bell) {}
  void note(const AccessFacts& facts) noexcept;
  [[nodiscard]] std::uint64_t noted() const noexcept { return noted_.read(); }
  [[nodiscard]] std::uint64_t dropped() const noexcept { return dropped_.read(); }

 private:
  friend class AccessLog;
  base::ByteRing ring_;
  const io::Doorbell& bell_;
  std::size_t since_ring_ = 0;  // bytes noted since the bell was rung
  base::Cell<std::uint64_t> noted_;
  base::Cell<std::uint64_t> dropped_;
};

class AccessLog {
 public:
  static constexpr std::size_t kRing = std::size_t{1} << 20;  // bytes a worker: some 2000 requests

  explicit AccessLog(std::uint32_t workers, std::size_t ring = kRing);
  ~AccessLog();
  AccessLog(const AccessLog&) = delete;
  AccessLog& operator=(const AccessLog&) = delete;

  // Opens the file of `options` and compiles its format; on an error nothing has changed. Without a
  // file what comes is thrown away.
  base::Result<void> configure(const LogOptions& options);
  // Opens the same path anew: a rotation has moved the file away.
  base::Result<void> reopen();

  [[nodiscard]] AccessRing& ring(std::uint32_t worker) noexcept { return *rings_[worker]; }
  [[nodiscard]] std::uint64_t lines() const noexcept { return lines_.read(); }
  [[nodiscard]] std::uint64_t dropped() const noexcept;                       // rings were full
  [[nodiscard]] std::uint64_t lost() const noexcept { return lost_.read(); }  // not written
  // Whether lines can be written.
  struct Health {
    bool failing = false;
    int error = 0;           // errno of the last failure
    std::uint64_t lost = 0;  // lines since it began to fail
  };
  // When that has changed since the last call: each failure once, and its end.
  [[nodiscard]] std::optional<Health> changed_health() noexcept;

 private:
  struct Target {  // where lines go, and how they look
    io::LogFile file;
    http::AccessFormat format;
  };
  base::Result<std::unique_ptr<Target>> make(const LogOptions& options) const;
  base::Result<void> hand_over(std::unique_ptr<Target> target);
  void run();                // the writer's thread
  std::size_t write_some();  // bytes taken from the rings
  void note_health(int error) noexcept;

  io::Doorbell bell_;
  std::vector<std::unique_ptr<AccessRing>> rings_;
  LogOptions options_;
  std::atomic<Target*> next_{nullptr};  // control → writer; the writer takes it over
  std::atomic<bool> stop_{false};
  base::Cell<std::uint64_t> lines_;
  base::Cell<std::uint64_t> lost_;
  base::Cell<std::uint64_t> failures_;  // times that writing began to fail
  std::atomic<bool> failing_{false};
  std::atomic<int> error_{0};
  struct Told {  // by changed_health; control
    std::uint64_t failures = 0;
    std::uint64_t lost = 0;         // at the last call
    std::uint64_t lost_before = 0;  // when it began to fail
    bool failing = false;
  };
  Told told_;
  std::unique_ptr<Target> target_;    // writer
  std::string buffer_;                // writer
  std::optional<io::Thread> thread_;  // started by the first file
};

// One line; for the writer, and for tests. `at` is the wall time of `facts.ended`.
[[nodiscard]] std::size_t write_access_line(const AccessFacts& facts,
                                            std::chrono::sys_time<std::chrono::milliseconds> at,
                                            const http::AccessFormat& format,
                                            std::span<char> out) noexcept;

}  // namespace steelyard::proxy
