// Driver: writes one upstream's weights into another balancer, and knows whether they took effect.
//
// What is wanted and what is applied are two things: a weight counts as applied only when it was
// read back (Nginx: new workers serve it). Wants may come at any rate; they join while the driver
// is busy or must wait, and the last one wins. Nothing here blocks or throws; failures are in the
// status and go to Events.
//
// Threads: control. Drivers are made by `Drivers` (apply/drivers.h), which outlives them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "steelyard/base/time.h"
#include "steelyard/model/table.h"

namespace steelyard::apply {

enum class State : std::uint8_t {
  kStarting,  // nothing looked at yet
  kIdle,      // ready, nothing was wanted yet
  kApplied,   // what is wanted serves
  kPending,   // a change waits for its turn, for the gap, or for a retry
  kApplying,  // a change is being written, tested, loaded, verified or watched
  kWaiting,   // written and tested, but the balancer does not run
  kRefused,   // not ours to write: foreign file, locked by another process, no rights
  kFailed,    // the last change failed and was undone; a retry is planned
  kAlarm,     // three failures in a row: retries only now and then
  kStopped,   // crashing workers or a second writer: nothing more is tried until `resume`
};
[[nodiscard]] std::string_view to_text(State state) noexcept;

struct NodeShare {
  std::string node;
  double intended = 0;             // share of the upstream's traffic that control wants, 0 … 1
  std::optional<double> verified;  // share that the balancer was seen to have loaded
};

struct Status {
  std::string upstream;
  std::string kind;    // "nginx"
  std::string target;  // the file
  State state = State::kStarting;
  std::string reason;               // why it is not applied, in words; empty when all is well
  std::uint64_t wanted_table = 0;   // number of the Table last wanted …
  std::uint64_t applied_table = 0;  // … and of the last one that was verified
  std::vector<NodeShare> nodes;
  double drift = 0;                          // sum of |intended − verified| over two, 0 … 1
  std::uint64_t applies = 0;                 // changes verified
  std::uint64_t failures = 0;                // changes that failed, whatever the step
  std::uint64_t rollbacks = 0;               // files put back
  std::uint64_t reloads = 0;                 // reload commands run, of this balancer as a whole
  std::uint64_t edits = 0;                   // changes of the file by others
  std::optional<std::uint64_t> old_workers;  // workers still shutting down, when known
  std::string last_error;                    // of the last failed change
  std::optional<base::TimePoint> last_success;
};

// One thing that happened, for log and ledger.
struct Event {
  std::string upstream;   // empty: about the balancer as a whole
  std::string_view what;  // static: "applied", "failed", "rolled_back", "edited", …
  std::string text;
};

class Events {
 public:
  virtual void on_event(const Event& event) noexcept = 0;

 protected:
  ~Events() = default;
};

class Driver {
 public:
  virtual ~Driver() = default;
  virtual void want(const model::TableUpstream& upstream, std::uint64_t table) = 0;
  virtual void resume() = 0;  // a person looked: leave kStopped and kAlarm, try again
  [[nodiscard]] virtual Status status() const = 0;
};

}  // namespace steelyard::apply
