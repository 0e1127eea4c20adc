// Decision: why a node has the weight it has. One for each node and tick in which something changed
// or was held back.
//
// Carries what was seen, every stage's value in the fixed order, the rule that bit, and the same in
// words. The brain makes it; log, API, dashboard, ledger and simulator print this one struct.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "steelyard/base/time.h"
#include "steelyard/model/eligibility.h"
#include "steelyard/model/node_ref.h"
#include "steelyard/model/observation.h"

namespace steelyard::model {

// One stage's value on the way from signal to weight, in order of application.
struct StageValue {
  std::string_view stage;  // static text: "controller", "smooth", "threshold", "step", "cooldown",
                           // "floor", "cap", "override", "ramp"
  double value = 0;        // the weight in base units after this stage
  bool bit = false;        // this stage changed or blocked the value
  std::string why;         // in words, only when it bit: "step limited to ×1.5"
};

enum class Change : std::uint8_t {
  kNone,        // looked at, nothing to do
  kWeight,      // the effective weight moved
  kSuppressed,  // a wanted change was held back by a stabiliser
  kOut,         // usable → out
  kTrial,       // out → trial
  kRamp,        // back in service, ramp begins
  kUsable,      // ramp done, or first pass of a new node
  kDrain,
  kOverride,  // an override was set, ended or expired
  kPanic,     // the upstream entered or left panic
};
[[nodiscard]] std::string_view to_text(Change change) noexcept;

struct Decision {
  std::uint64_t table = 0;  // number of the first Table that carries it
  base::TimePoint at{};
  NodeId node;  // node.name empty: about the whole upstream
  Change change = Change::kNone;
  double base = 1;    // configured weight
  double wanted = 1;  // what the controller asked for, base units
  double from = 1;    // effective weight before …
  double to = 1;      // … and after
  double share = 0;   // share of the upstream after, 0 … 1
  Eligibility eligibility = Eligibility::kUsable;
  std::string controller;  // "capacity", "score_map", …
  Observation seen;
  std::vector<StageValue> stages;
  std::string reason;  // one sentence in words, with its numbers
};

}  // namespace steelyard::model
