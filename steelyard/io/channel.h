// Channel: whole messages, and descriptors with them, between two processes of one machine
// (SOCK_SEQPACKET, SCM_RIGHTS).
//
// Between the supervisor and an engine, which are of one version: the bytes are those of this
// machine. Nothing blocks but `receive` with a wait, and `send` where it is said. A peer that broke
// the protocol is closed like one that went away. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "steelyard/base/address.h"
#include "steelyard/base/result.h"
#include "steelyard/base/time.h"
#include "steelyard/io/fd.h"

namespace steelyard::io {

inline constexpr std::uint32_t kChannelVersion = 2;  // of verbs and memory layouts together

enum class Verb : std::uint16_t {
  // An engine asks; the answer comes at once.
  kWorkers = 1,  // number: wanted → kNumber: in force
  kListen,       // number: worker, text: address → kSocket with it, or kError
  kClaim,        // text: pid file → kDone or kError
  // An engine tells.
  kKeep,       // text: addresses, a line each; number: 1 when more follow
  kWantLease,  // → kLease, when it is free
  kReady,      // it serves
  kGaveBack,   // the lease
  kHolding,    // text: Holding, while it drains
  // The supervisor tells. What an engine is born with lies in its channel before it starts, so that
  // it comes up even when the supervisor ends meanwhile: kMemory, kBegin, kSocket for all there
  // are.
  kMemory,  // state, heartbeat, configuration; number: workers, 0: not known
  kBegin,   // number: 1 with the kept configuration, 0 with the file; text: ProcessStatus
  kNumber,
  kSocket,  // text: address, number: worker of the first; one or more of workers in a row
  kError,   // number: base::Code, text
  kDone,
  kSignal,    // number: what a person sent
  kLease,     // yours, now
  kGiveBack,  // save, stop ticking and applying, say kGaveBack
  kHandOver,  // text: addresses that another engine serves from now; drain
  kStatus,    // text: ProcessStatus
  // A new supervisor and an engine that lost its own.
  kAdopt,  // → kMemory; kSocket for all there are; kDone
  // An engine tells; last, so that the numbers of the others stay.
  kNotStarted,  // text: why it ends before it serves
};

struct Message {
  Verb verb{};
  std::uint32_t number = 0;
  std::string text;
  std::vector<Fd> fds{};
};

class Channel {
 public:
  static constexpr std::size_t kMostFds = 32;  // in one message

  Channel() = default;
  explicit Channel(Fd fd) noexcept : fd_(std::move(fd)) {}
  [[nodiscard]] static base::Result<std::pair<Channel, Channel>> pair();

  [[nodiscard]] const Fd& fd() const noexcept { return fd_; }
  [[nodiscard]] bool open() const noexcept { return fd_.valid() && !closed_; }
  void close() noexcept { fd_.reset(); }
  // It was closed since this process has no room for the descriptors that came.
  [[nodiscard]] bool short_of_descriptors() const noexcept { return short_of_descriptors_; }

  // False: the peer is gone, or has not read for so long that its queue is full (`wait`: for room).
  bool send(const Message& message, base::Duration wait = {}) noexcept;
  // Nothing: no message came within `wait`, or the channel is no longer `open`.
  [[nodiscard]] std::optional<Message> receive(base::Duration wait = {});

 private:
  Fd fd_;
  bool closed_ = false;
  bool short_of_descriptors_ = false;
};

// Lines of text, each ended; and back.
[[nodiscard]] std::string to_lines(std::span<const base::Address> addresses);
[[nodiscard]] std::vector<base::Address> addresses_of(std::string_view lines);

// Where an engine without a supervisor can be found: a name in the abstract namespace, so that it
// lives and dies with the process, like the port that it stands for. Only processes of the same
// user are talked to.
[[nodiscard]] base::Result<Fd> wait_for_supervisor(std::string_view name);
// The next one that called; invalid: nobody, or a stranger.
[[nodiscard]] Fd accept_supervisor(const Fd& waiting) noexcept;
// An engine that waits under this name, with its process id; an invalid Channel: none.
[[nodiscard]] std::pair<Channel, int> call_engine(std::string_view name) noexcept;

}  // namespace steelyard::io
