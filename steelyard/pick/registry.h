// The one list of pickers. A new picker is its file pair, its test and one line (with its include)
// in registry.cc; the conformance suite, the benchmark, the configuration, its schema and the docs
// loop over this list.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string_view>

#include "steelyard/pick/picker.h"

namespace steelyard::pick {

struct Kind {
  std::string_view name;     // as in the configuration: "least_connections"
  std::string_view summary;  // one sentence for manual and schema
  // How far a node's share of 1,000,000 picks (no load, all pickable) may be from weight / sum,
  // absolute.
  double share_bound;
  std::unique_ptr<const Picker> (*make)(const model::TableUpstream& upstream);
};

[[nodiscard]] std::span<const Kind> kinds() noexcept;
[[nodiscard]] const Kind* find(std::string_view name) noexcept;
inline constexpr std::string_view kDefaultPicker = "least_connections";

}  // namespace steelyard::pick
