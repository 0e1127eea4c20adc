// What the brain remembers, for its own .cc files only. See brain.h.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "steelyard/control/brain.h"
#include "steelyard/control/combine.h"
#include "steelyard/control/meter.h"
#include "steelyard/health/gate.h"
#include "steelyard/model/state.h"
#include "steelyard/sense/observer.h"
#include "steelyard/weigh/weigher.h"

namespace steelyard::control {

// What a person or a reload did to a node since the last tick; told with the tick's decision.
struct Event {
  model::Change change = model::Change::kNone;
  std::string text;  // goes on from the node's name: " override 2 set by alice (canary)"
};

// Reading an observation costs a few hundred bucket operations a node: between reports nothing asks
// for it more often.
inline constexpr base::Duration kSeenFor = std::chrono::milliseconds(250);

// Attempts counted so far, once a second: their differences are the shares that are seen.
inline constexpr std::size_t kMarks = 6;

struct Upstream;

struct Node {
  Node(const model::Slots& slots, model::NodeSpec what, model::NodeRef where, health::Gate start,
       const sense::ObserverOptions& observe)
      : spec(std::move(what)),
        ref(where),
        meter(slots, where),
        gate(std::move(start)),
        observer(observe) {}

  Upstream* upstream = nullptr;
  model::NodeSpec spec;
  model::NodeRef ref;
  Meter meter;
  health::Gate gate;
  sense::Observer observer;
  std::optional<model::Override> override_;

  model::Observation seen;  // as of seen_at, or the newest report
  base::TimePoint seen_at{};
  bool reported = true;  // a report came since
  double control = 1;
  double wanted = 1;
  std::vector<model::StageValue> stages;  // of the last step
  std::uint32_t streak_epoch = 0;         // of the gate, as the meter knows it

  // What the last tick made of it.
  double weight = 0;
  double share = 0;
  model::Eligibility eligibility = model::Eligibility::kUsable;
  bool published = false;

  std::vector<Event> events;
  std::string suppressed;  // what was held back when that was told last
  double suppressed_wanted = 0;
  base::TimePoint suppressed_at{};
  std::string last_decision;
  base::TimePoint last_decision_at{};
  std::array<std::uint64_t, kMarks> marks{};

  [[nodiscard]] Factors factors() const noexcept {
    return {spec.weight, control, gate.ramp(),
            override_ ? std::optional(override_->weight) : std::nullopt};
  }
};

struct Upstream {
  explicit Upstream(UpstreamSetup s) : setup(std::move(s)), weigher(setup.weigh, setup.reloads) {}

  UpstreamSetup setup;  // spec.nodes is kept by the Nodes
  weigh::Weigher weigher;
  std::vector<std::unique_ptr<Node>> nodes;  // in order of configuration
  bool panic = false;
  bool frozen = false;                          // as told last
  std::string law;                              // as told last
  std::array<base::TimePoint, kMarks> marks{};  // when the nodes' marks were taken
  std::size_t next_mark = 0;
  std::size_t marked = 0;

  [[nodiscard]] const std::string& name() const noexcept { return setup.spec.name; }
  [[nodiscard]] Node* find(std::string_view node) const noexcept;
};

// A node that is in no new Table, but whose slot workers may still touch.
struct Leaving {
  model::NodeId id;
  model::NodeRef ref;
  Meter meter;
  std::uint64_t absent_since =
      0;                   // number of the first Table without it; 0: that Table is not made yet
  bool published = false;  // it stood in some Table
  bool orphan = false;     // its upstream left too, or one of that name came anew since
};

struct Brain::State {
  explicit State(model::Slots& s) : slots(s), by_slot(s.capacity(), nullptr) {}

  [[nodiscard]] Upstream* find(std::string_view upstream) const noexcept;
  [[nodiscard]] Node* find(model::NodeRef ref) const noexcept;
  [[nodiscard]] base::Result<Node*> find_unique(std::string_view upstream,
                                                std::string_view node) const;
  void settle(Upstream& next, Upstream* old, std::vector<model::NodeRef>& claimed,
              base::TimePoint now);
  void leave(Node& node, base::TimePoint now);
  void orphan(const std::string& upstream);
  void publish(std::uint64_t number);
  void collect();

  model::Slots& slots;
  std::vector<std::unique_ptr<Upstream>> upstreams;  // in order of configuration
  std::vector<Node*> by_slot;
  std::vector<Leaving> leaving;
  std::map<std::string, Counts, std::less<>> gone;  // by upstream, of those configured
  Counts orphaned;                                  // of upstreams that left
  std::vector<model::Decision> pending;             // decisions about nodes that left
  std::shared_ptr<const model::Table> table;
  std::uint64_t past = 0;    // every worker holds this Table or a later one
  bool restructured = true;  // the next Table has other nodes, names or addresses
  History history;

  // Kept for their memory between ticks.
  std::vector<weigh::NodeInput> inputs;
  std::vector<weigh::NodeOutcome> outcomes;
};

[[nodiscard]] sense::ObserverOptions observer_options(const UpstreamSetup& setup);

// One tick of one upstream, in order; tick.cc.
struct TickWork {
  model::Slots& slots;
  std::vector<weigh::NodeInput>& inputs;
  std::vector<weigh::NodeOutcome>& outcomes;
  base::TimePoint now;
  std::uint64_t table = 0;  // the number the decisions carry
};
// True when something that a Table holds has changed.
bool tick_upstream(Upstream& upstream, TickWork& work, std::vector<model::Decision>& decisions);

}  // namespace steelyard::control
