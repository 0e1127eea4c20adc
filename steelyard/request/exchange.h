// The rules of one exchange: which node it is tried on, when it may be tried again, how long each
// step may take, and what is counted for it. Events and `now` in, one Step out; the proxy and the
// simulator run this same code.
//
// Attempts. `begin` picks a node, reserves its in-flight token and counts the attempt. Two attempts
// may run at once: the second is a hedge.
//
// Waiting. When every node is at its limit the exchange waits in the upstream's queue (queue.h),
// which `begin` tells by kWait and `waiting()`. Whoever drives it calls `wake` on the first of the
// queue when a token came back, until that one still waits. Newcomers queue behind those who wait.
//
// Trying again, never once a byte of the answer went to the client (`answered`), only while the
// request can be sent again from its start (`replayable`), never on a node that was tried. It reads
// an error's origin (the node's) and its safety:
//   unsent   the error is safe to retry (a failed connect): any method, `retry.attempts` times
//   broken   the node may have seen it: idempotent methods, `retry.attempts` times
//   status   one of `retry.statuses`: as broken; passed on where no other node can be tried
//   slow     no head within `retry.timeout`: as broken; goes on where no other can be tried
//   stale    broken on a reused connection, which says nothing about the node: idempotent methods,
//            once, on a fresh connection, to another node if there is one; takes from the count of
//            `broken`, so that with one retry no request reaches nodes more than twice. Not counted
//            as a failure.
// Every try after the first also takes from the upstream's budget (budget.h). Another one's head
// time-out is not tried again: it would double the load of what is already slow.
// Where a failed connect is the end, and each node of the upstream is out of service, was tried or
// refused within the last second, or so many are out that health does not count (panic), the answer
// is kNoNode.
// A 503 with Retry-After lets its node rest: it is not picked for so long while there are others.
//
// Hedging (`hedge`): idempotent, whole and replayable requests get a second attempt when the first
// has brought no head for the given or measured time; once, as a `broken` retry counts.
//
// Deadlines: connect from the start of the attempt; head from the end of the request; idle from the
// last byte that moved; total from `begin`, shortened by what the client gave. `deadline` is the
// next of them; call `on_time` then.
//
// Tunnels: after `tunnel` only the idle time counts, and the Policy may go.
//
// Counting (model::WorkerCells), always before the in-flight token goes back. A status below 500
// whose answer came to its end is a success; ≥ 500, broken and timed out are failures; what the
// client or we gave up is neither, unless its head had come; nor is an answer above one of our
// limits (kLimit), which is no sign of illness. `Step::urgent` says that control should look at
// once.
//
// Cost: no allocation, no clock. Owned by one worker. Slots and States must outlive it; the Policy
// while it runs.
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
#include "steelyard/request/states.h"

namespace steelyard::request {

struct Policy {
  TimeoutOptions timeouts;
  RetryOptions retry;
  std::optional<HedgeOptions> hedge;
};

// What the rules want to know of a request.
struct Request {
  bool idempotent = false;
  std::optional<std::uint64_t> key;     // pick::Picker::number, for the pickers that are keyed
  std::optional<base::Duration> given;  // the time that the client has for it, when trusted
};

// What the caller lends for one call. `upstream` is the place in `table`; nothing: it is gone.
struct Place {
  const pick::Table& table;
  std::optional<std::uint32_t> upstream;
  pick::Cursors& cursors;
  const model::Slots& slots;
  std::uint32_t worker = 0;
  base::Rng& rng;
  States& states;
};

// For Request::key: what the upstream's picker makes of the request's key; nothing where the picker
// is not keyed or the request has none.
[[nodiscard]] std::optional<std::uint64_t> key_of(const Place& place, const Facts& facts) noexcept;

struct Step {
  enum class Kind : std::uint8_t {
    kWait,    // nothing to do; or wait in the queue
    kTry,     // begin attempt `attempt` on `node`
    kAnswer,  // give the client our own answer, for `reason`
    kAbort,   // break off towards the client: an answer has begun and cannot be completed
  };
  Kind kind = Kind::kWait;
  std::uint8_t attempt = 0;
  bool fresh = false;   // kTry: on a new connection
  bool urgent = false;  // control should look at this node at once
  bool hedge = false;   // kTry: beside an attempt that goes on
  bool denied = false;  // the budget did not allow another try
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

// What led to a pick.
enum class Picked : std::uint8_t { kFirst, kRetry, kHedge, kQueued };

// An attempt that was not the last one; status 0: no answer came.
struct Tried {
  model::NodeRef node;
  unsigned status = 0;
};

// What an exchange came to, for the access log.
struct Summary {
  static constexpr std::size_t kEarlier = 2;
  model::NodeRef node;  // of the attempt begun last; slot and generation 0: none was
  unsigned tries = 0;
  unsigned node_status = 0;               // that the last answer of a node had; 0: none came
  std::optional<base::Duration> connect;  // of that attempt, from its start; 0 on a pooled one
  std::optional<base::Duration> head;     // … to the head of its answer
  Reason reason = Reason::kNone;          // of an answer of ours, or of breaking off
  Picked picked = Picked::kFirst;         // that attempt's node
  bool panic = false;                     // … and health was ignored for it
  base::TimePoint began{};                // that attempt
  std::array<Tried, kEarlier> earlier;    // the others begun last, in their order
  std::size_t earlier_count = 0;
};

// What the head of an answer leads to.
struct Headed {
  bool pass = true;               // it goes to the client; else the attempt is over
  std::optional<unsigned> loser;  // the other attempt, which runs and lost: end it with `give_up`
  Step next;                      // not passed: what to do instead
};

class Exchange : public Waiter {
 public:
  static constexpr unsigned kAttempts = 2;

  Step begin(const Policy& policy, const Request& request, const Place& place,
             base::TimePoint now) noexcept;
  // While `waiting`: kWait when there is still nothing.
  Step wake(const Place& place, base::TimePoint now) noexcept;
  void leave_queue() noexcept { leave(); }  // the client went away while waiting

  void connected(unsigned attempt, base::TimePoint now) noexcept;
  void sent(unsigned attempt, base::TimePoint now) noexcept;  // the whole request went to it
  void moved(base::TimePoint now) noexcept { moved_ = now; }  // body bytes moved, either way
  void whole() noexcept { whole_ = true; }                    // the request is here to its end
  void set_replayable(bool yes) noexcept { replayable_ = yes; }
  void answered() noexcept { answered_ = true; }  // a byte of the answer went to the client

  // The final head came. `rest`: its Retry-After.
  Headed head(unsigned attempt, unsigned status, std::optional<base::Duration> rest,
              const Place& place, base::TimePoint now) noexcept;
  // Its head opened a tunnel, which ends when nothing moves for `idle`. Until `finished` it has its
  // token; `policy` may not be asked any more.
  void tunnel(unsigned attempt, base::Duration idle) noexcept;
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
  // When the whole exchange must be over; max(): no such time.
  [[nodiscard]] base::TimePoint total_deadline() const noexcept { return end_by_; }
  [[nodiscard]] bool running(unsigned attempt) const noexcept {
    return attempts_[attempt].state != State::kFree;
  }
  [[nodiscard]] model::NodeRef node(unsigned attempt) const noexcept {
    return attempts_[attempt].node;
  }
  [[nodiscard]] const Policy& policy() const noexcept { return *policy_; }
  [[nodiscard]] unsigned tries() const noexcept { return tries_; }
  [[nodiscard]] Summary summary() const noexcept;

 private:
  enum class State : std::uint8_t { kFree, kConnecting, kSending, kWaiting, kAnswering, kTunnel };
  enum class Outcome : std::uint8_t { kSuccess, kFailure, kUncounted };
  struct Attempt {
    State state = State::kFree;
    Picked picked = Picked::kFirst;
    bool panic = false;
    std::uint8_t turn = 0;  // place in `tried_`; kTried: none was left
    std::uint16_t status = 0;
    std::uint32_t at = 0;  // place among the upstream's nodes when it was picked
    model::NodeRef node;
    base::TimePoint began{};
    base::TimePoint sent{};
    std::optional<base::Duration> connect;
    std::optional<base::Duration> head;
    model::InFlight token;
    model::WorkerCells* cells = nullptr;
  };
  struct Chosen {
    std::optional<pick::Index> at;
    model::InFlight token;
    bool busy = false;  // a node was at its limit
  };

  // exchange.cc
  Step first(const Place& place, base::TimePoint now) noexcept;
  Chosen choose(const Place& place, std::optional<std::uint8_t> forgive,
                base::TimePoint now) const noexcept;
  Chosen choose_among(const Place& place, std::span<model::NodeRef> without,
                      std::size_t count) const noexcept;
  Step start(const Place& place, Chosen chosen, Picked how, base::TimePoint now) noexcept;
  void set_times(const Place& place, base::TimePoint now) noexcept;
  void count_failure(Attempt& attempt, base::Code code) noexcept;
  void end(Attempt& attempt, Outcome outcome) noexcept;
  Step close(Reason reason) noexcept;

  // retry.cc
  [[nodiscard]] bool resendable() const noexcept;
  Chosen another(const Place& place, Step& step, base::TimePoint now) noexcept;
  Step again(const Place& place, Reason otherwise, base::TimePoint now) noexcept;
  Step replace_slow(unsigned which, const Place& place, base::TimePoint now) noexcept;
  Step hedge(const Place& place, base::TimePoint now) noexcept;

  // deadlines.cc
  [[nodiscard]] base::TimePoint deadline_of(const Attempt& attempt) const noexcept;
  [[nodiscard]] base::TimePoint slow_at() const noexcept;
  [[nodiscard]] base::TimePoint hedge_at() const noexcept;
  Step out_of_time(Stall stall) noexcept;

  static constexpr std::size_t kTried = 8;

  const Policy* policy_ = nullptr;
  std::optional<std::uint64_t> key_;
  base::TimePoint began_{};
  base::TimePoint moved_{};
  base::TimePoint end_by_ = base::TimePoint::max();
  base::TimePoint wait_until_ = base::TimePoint::max();  // while in the queue
  base::Duration head_limit_{};
  base::Duration tunnel_idle_{};
  base::Duration hedge_after_{};  // zero: it is not hedged, or no more
  std::array<Attempt, kAttempts> attempts_;
  std::array<model::NodeRef, kTried> tried_;
  std::array<std::uint16_t, kTried> answered_with_{};  // by those; 0: nothing
  std::uint8_t tried_count_ = 0;
  std::uint8_t last_ = 0;  // the attempt begun last
  std::uint8_t tries_ = 0;
  std::uint8_t moves_ = 0;    // tried again though nothing was sent
  std::uint8_t resends_ = 0;  // tried again though a node may have seen it
  Reason reason_ = Reason::kNone;
  bool idempotent_ = false;
  bool replayable_ = true;
  bool whole_ = false;
  bool answered_ = false;
  bool patient_ = false;  // no other node could take over from a slow one
  bool stale_ = false;    // a reused connection died under this exchange
  std::optional<std::uint8_t>
      forgiven_;  // place in `tried_` of the node it led to, until tried again
};

}  // namespace steelyard::request
