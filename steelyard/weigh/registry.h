// The one list of controllers. A new one is its file pair, its test and one line (with its include)
// in registry.cc; the conformance suite, the configuration, its schema and the docs loop over this
// list.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "steelyard/schema/field.h"
#include "steelyard/weigh/controller.h"

namespace steelyard::weigh {

struct Kind {
  std::string_view name;     // as in the configuration: "score_map"
  std::string_view summary;  // one sentence for manual and schema
  std::string_view needs;    // the signals, in words: "score"; empty: none
  schema::Describe options = nullptr;
  std::unique_ptr<Controller> (*make)(const schema::Choice& choice) = nullptr;
};

[[nodiscard]] std::span<const Kind> kinds() noexcept;
[[nodiscard]] const Kind* find(std::string_view name) noexcept;

inline constexpr std::string_view kAdaptive = "adaptive";
// What may stand in the configuration: `adaptive` (no controller of its own, see choose.h), then
// all kinds.
[[nodiscard]] std::span<const Kind> choices();

}  // namespace steelyard::weigh
