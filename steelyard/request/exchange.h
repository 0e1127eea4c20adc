// The rules of one exchange: which node it is tried on, when it may be tried again, how long each
// step may take, and what is counted for it. Events and `now` in, one Step out; the proxy and the
// simulator run this same code.
//
// Attempts. `begin` picks a node, reserves its in-flight token and counts the attempt. Two attempts
// may run at once (an array of two), so that hedging needs no other shape; today the second starts
// after the first has ended.
//
// Trying again, never once a byte of the answer went to the client (`answered`) and only while the
// request can be sent again from its start (`replayable`). It reads an error's origin (the node's)
// and its safety:
//   unsent   the error is safe to retry (a failed connect): any method, `retry.attempts` times, on
//   another node; broken   the node may have seen it: idempotent methods, `retry.attempts` times,
//   on another node; stale    broken on a reused connection, which says nothing about the node:
//   idempotent methods, once, on a fresh
//            connection, to another node if there is one; takes from the budget of `broken`, so
//            that with one retry no request reaches nodes more than twice. Not counted as a
//            failure.
// A time-out after the request was sent is not tried again: it would double the load of what is
// already slow.
//
// Deadlines: connect from the start of the attempt; head from the end of the request; idle from the
// last byte that moved; total from `begin`. `deadline` is the next of them; call `on_time` then.
//
// Counting (model::WorkerCells), always before the in-flight token goes back. A status below 500
// whose answer came to its end is a success; ≥ 500, broken and timed out are failures; what the
// client or we gave up is neither, unless its head had come; nor is an answer above one of our
// limits (kLimit), which is no sign of illness. `Step::urgent` says that control should look at
// once.
//
// Cost: no allocation, no clock. Owned by one worker. Slots must outlive it; the Policy while it
// runs.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "steelyard/base/result.h"
#include "steelyard/base/rng.h"
#include "steelyard/base/time.h"
#include "steelyard/model/slots.h"
#include "steelyard/model/table.h"
#include "steelyard/pick/cursors.h"
#include "steelyard/pick/table.h"
#include "steelyard/request/options.h"
#include "steelyard/request/reason.h"

namespace steelyard::request {

struct Policy {
  TimeoutOptions timeouts;
  RetryOptions retry;
};

// What the caller lends for one call. `upstream` is the place in `table`; nothing: it is gone.
struct Place {
  const pick::Table& table;
  std::optional<std::uint32_t> upstream;
  pick::Cursors& cursors;
  const model::Slots& slots;
  std::uint32_t worker = 0;
  base::Rng& rng;
};

struct Step {
  enum class Kind : std::uint8_t {
    kWait,    // nothing to do
    kTry,     // begin attempt `attempt` on `node`
    kAnswer,  // give the client our own answer, for `reason`
    kAbort,   // break off towards the client: an answer has begun and cannot be completed
  };
  Kind kind = Kind::kWait;
  std::uint8_t attempt = 0;
  bool fresh = false;   // kTry: on a new connection
  bool urgent = false;  // control should look at this node at once
  Reason reason = Reason::kNone;
  const model::TableNode* node = nullptr;  // kTry: lives as long as the Table of the call
};

enum class Stall : std::uint8_t { kNode, kClient };  // who keeps the exchange from moving

// Where an attempt broke: it decides what that says about the node, and whether it may be tried
// again.
enum class Broke : std::uint8_t {
  kFresh,     // on a connection of its own, or while connecting
  kReused,    // on a connection that had served before, without a byte of an answer to this request
  kInAnswer,  // after the first byte of the answer
};

class Exchange {
 public:
  static constexpr unsigned kAttempts = 2;

  Step begin(const Policy& policy, bool idempotent, std::uint64_t key, const Place& place,
             base::TimePoint now) noexcept;

  void connected(unsigned attempt, base::TimePoint now) noexcept;
  void sent(unsigned attempt, base::TimePoint now) noexcept;  // the whole request went to it
  void moved(base::TimePoint now) noexcept { moved_ = now; }  // body bytes moved, either way
  void set_replayable(bool yes) noexcept { replayable_ = yes; }
  void answered() noexcept { answered_ = true; }  // a byte of the answer went to the client

  // The final head came. Gives the other attempt, if one runs: it lost, end it with `give_up`.
  std::optional<unsigned> head(unsigned attempt, unsigned status, base::TimePoint now) noexcept;
  // The answer came to its end; the attempt is over.
  void finished(unsigned attempt) noexcept;
  // The attempt broke.
  Step failed(unsigned attempt, const base::Error& error, Broke where, const Place& place,
              base::TimePoint now) noexcept;
  // The client went away, or the attempt lost: neither success nor failure, unless its head had
  // come.
  void give_up(unsigned attempt) noexcept;
  // `deadline` has passed. kWait when it has moved on meanwhile. The ended attempts are those no
  // longer `running`.
  Step on_time(Stall stall, const Place& place, base::TimePoint now) noexcept;

  [[nodiscard]] base::TimePoint deadline() const noexcept;
  [[nodiscard]] bool running(unsigned attempt) const noexcept {
    return attempts_[attempt].state != State::kFree;
  }
  [[nodiscard]] model::NodeRef node(unsigned attempt) const noexcept {
    return attempts_[attempt].node;
  }
  [[nodiscard]] const Policy& policy() const noexcept { return *policy_; }
  [[nodiscard]] unsigned tries() const noexcept { return tries_; }

 private:
  enum class State : std::uint8_t { kFree, kConnecting, kSending, kWaiting, kAnswering };
  enum class Outcome : std::uint8_t { kSuccess, kFailure, kUncounted };
  struct Attempt {
    State state = State::kFree;
    std::uint16_t status = 0;
    model::NodeRef node;
    base::TimePoint began{};
    base::TimePoint sent{};
    model::InFlight token;
    model::WorkerCells* cells = nullptr;
  };

  Step pick(const Place& place, base::TimePoint now, Reason otherwise) noexcept;
  std::optional<pick::Index> choose(const Place& place, std::optional<std::uint8_t> forgive,
                                    model::InFlight& token, bool& busy) const noexcept;
  Step start(const Place& place, pick::Index at, model::InFlight token,
             base::TimePoint now) noexcept;
  void count_failure(Attempt& attempt, base::Code code) noexcept;
  void end(Attempt& attempt, Outcome outcome) noexcept;
  Step close(Reason reason) noexcept;
  [[nodiscard]] base::TimePoint deadline_of(const Attempt& attempt) const noexcept;

  static constexpr std::size_t kTried = 16;

  const Policy* policy_ = nullptr;
  std::uint64_t key_ = 0;
  base::TimePoint began_{};
  base::TimePoint moved_{};
  std::array<Attempt, kAttempts> attempts_;
  std::array<model::NodeRef, kTried> tried_;
  std::uint8_t tried_count_ = 0;
  std::uint8_t tries_ = 0;
  std::uint8_t moves_ = 0;    // tried again though nothing was sent
  std::uint8_t resends_ = 0;  // tried again though a node may have seen it
  bool idempotent_ = false;
  bool replayable_ = true;
  bool answered_ = false;
  bool stale_ = false;  // a reused connection died under this exchange
  std::optional<std::uint8_t>
      forgiven_;  // place in `tried_` of the node it led to, until tried again
};

}  // namespace steelyard::request
