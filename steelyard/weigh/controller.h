// The controller's contract: observations → wanted weights, for the nodes of one upstream that are
// in service.
//
// A controller states for each node what it wants, or that it does not know (`known` false: the
// weigher gives the node the mean of the known ones, never zero, never a win). It may keep state
// per node (a timer, a last step), which `forget` drops; it never sees or limits how far weights
// have moved: that is the stabilisers' work. Cost: O(nodes) a call, once per new sample. One owner
// (control), no I/O.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "steelyard/base/time.h"
#include "steelyard/model/node_ref.h"
#include "steelyard/model/observation.h"

namespace steelyard::weigh {

// What a wish's value means.
enum class Scale : std::uint8_t {
  kFactor,    // a factor on the base weight: control = value
  kAbsolute,  // a weight in any unit: control = (w/Σw)·(Σbase/base) over the known nodes
};

// What smooths the signal, and so delays it, before the controller sees it.
enum class Smoothing : std::uint8_t { kNone, kMean, kEwma };

struct Law {
  Scale scale = Scale::kFactor;
  Smoothing smoothing = Smoothing::kNone;
  std::uint32_t min_known = 1;  // with fewer known nodes the base weights stand
  bool signals = true;          // false: needs none, its weights hold at once
};

struct View {
  model::NodeRef ref;
  double base = 1;                           // > 0
  const model::Observation* seen = nullptr;  // never null
  bool explain = false;                      // fill Wish::why
};

struct Wish {
  bool known = false;
  bool floor = false;  // the floor weight; `value` says nothing
  bool hold = false;   // not yet to be judged: keeps the weight it has; `value` says nothing
  double value = 0;    // > 0 and finite when known and neither floor nor hold
  std::string why;     // in words with its numbers: "score 62 → 4 of 10"
};

class Controller {
 public:
  virtual ~Controller() = default;
  [[nodiscard]] virtual Law law() const noexcept = 0;
  // `out` is as long as `nodes` and comes default-made.
  virtual void wish(std::span<const View> nodes, base::TimePoint now, std::span<Wish> out) = 0;
  virtual void forget(model::NodeRef node) = 0;
};

}  // namespace steelyard::weigh
