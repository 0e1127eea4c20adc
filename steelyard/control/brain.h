// Brain: the loop body. Owns all that was learned; takes samples and time, gives the next Table and
// why.
//
//   configure(setup, now)     boot and reload, one path. What was learned stays with (upstream,
//   name), wherever it stands. observe(sample)           reports and checks as they come; traffic
//   is read from the Slots at each tick. tick(now)                 every 100 ms, and early (within
//   5 ms) after a refused connection: any spacing is right. workers_past(number)      every worker
//   holds Table `number` or a later one: slots of nodes that left may be used again.
//
// Effective weight = (override, else base × control) × ramp; in panic the usable nodes are raised
// so that together they keep 30 %. Health and drain are not weights: they are the node's
// eligibility. Panic: fewer than half of the nodes that are not drained are healthy; then all but
// the drained ones are picked, without limits. A new address under an old name is a new
// incarnation: control, latency and ejection are dropped, it ramps; an override stays. A node that
// left is in no Table from the next tick on; its slot is released when the workers are past that,
// nothing is in flight and no idle connection is kept; its counts then stand in the upstream's
// `gone`, and once the upstream has left in `gone()`.
//
// Pure: no I/O, clock, thread or log. One owner (control); `slots` outlives it. Cost of a tick:
// O(nodes × workers).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "steelyard/base/result.h"
#include "steelyard/base/time.h"
#include "steelyard/control/history.h"
#include "steelyard/control/view.h"
#include "steelyard/health/options.h"
#include "steelyard/model/decision.h"
#include "steelyard/model/sample.h"
#include "steelyard/model/slots.h"
#include "steelyard/model/table.h"
#include "steelyard/model/upstream.h"
#include "steelyard/pick/registry.h"
#include "steelyard/sense/options.h"
#include "steelyard/weigh/options.h"

namespace steelyard::control {

struct UpstreamSetup {
  model::UpstreamSpec spec;
  health::Options health;
  sense::Options sense;
  weigh::Options weigh;
  pick::Chosen picker;   // no kind: the default
  bool reloads = false;  // applying a weight means a reload (apply.nginx is configured)
};

struct Setup {
  std::vector<UpstreamSetup> upstreams;
};

struct Tick {
  std::shared_ptr<const model::Table>
      table;  // the current one; its number has grown if anything in it changed
  bool changed = false;
  std::vector<model::Decision> decisions;  // also kept in history()
};

struct OverrideRequest {
  std::string_view upstream;  // empty: the one that has the node
  std::string_view node;
  double weight = 1;  // base units, 0 = drain
  std::string_view reason = "api";
  std::string_view by = "api";
  base::TimePoint until{};  // must lie ahead
};

class Brain {
 public:
  explicit Brain(model::Slots& slots);
  ~Brain();
  Brain(const Brain&) = delete;
  Brain& operator=(const Brain&) = delete;

  // All or nothing. kInvalid: duplicate or empty names, weights that are no weights; kLimit: no
  // slot is free.
  base::Result<void> configure(Setup setup, base::TimePoint now);

  // Samples of a node that is gone (its generation has passed) are ignored.
  void observe(const model::ReportSample& sample);
  void observe(const model::CheckSample& sample);

  [[nodiscard]] Tick tick(base::TimePoint now);
  void workers_past(std::uint64_t table_number);

  // The node it is about. kNotFound: no such node; kConflict: several upstreams have one of that
  // name; kInvalid: no weight, or an end that has passed. It shows in the Table of the next tick.
  base::Result<model::NodeId> set_override(const OverrideRequest& request, base::TimePoint now);
  base::Result<model::NodeId> clear_override(std::string_view upstream, std::string_view node,
                                             base::TimePoint now);

  // The state blob. `restore` is called once, after the first `configure`; kInvalid: the blob is
  // damaged, nothing was used.
  [[nodiscard]] std::vector<std::byte> save(base::TimePoint now) const;
  base::Result<void> restore(std::span<const std::byte> blob, base::TimePoint now);

  [[nodiscard]] std::vector<UpstreamView> views(base::TimePoint now) const;
  // Of all nodes of upstreams that left; it only grows.
  [[nodiscard]] Counts gone() const;
  [[nodiscard]] const History& history() const noexcept;
  // The Table of the last tick; null before the first.
  [[nodiscard]] const std::shared_ptr<const model::Table>& table() const noexcept;
  // The pickers of the current Table's upstreams, in its order: for pick::Table::make.
  [[nodiscard]] std::vector<pick::Chosen> pickers() const;
  [[nodiscard]] model::NodeRef find(std::string_view upstream,
                                    std::string_view node) const noexcept;
  // Slots of nodes that left and that workers may still touch.
  [[nodiscard]] std::size_t leaving() const noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace steelyard::control
