// Table: what control decided, as one immutable numbered value: for each upstream the nodes with
// weight and eligibility.
//
// Built by control, handed to every worker in one record with the Config; workers, drivers, the
// library and the admin API all read the same Table. `pick::Table` adds the prepared pickers. A
// Table never changes once made; a new decision is a new Table with a greater number. Names in
// order of configuration; a node's place in the list is no identity (NodeRef is).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "steelyard/base/address.h"
#include "steelyard/model/eligibility.h"
#include "steelyard/model/node_ref.h"

namespace steelyard::model {

struct TableNode {
  NodeRef ref;
  std::string name;
  base::Address address;
  double weight = 1;  // effective: (override or base × control) × ramp; > 0 unless drained
  Eligibility eligibility = Eligibility::kUsable;
  friend bool operator==(const TableNode&, const TableNode&) = default;
};

struct TableUpstream {
  std::string name;
  std::vector<TableNode> nodes;
  bool panic = false;  // too many look bad: health is ignored, all but drained nodes are picked
  friend bool operator==(const TableUpstream&, const TableUpstream&) = default;

  // The node's share of the traffic among those pickable now, 0 … 1.
  [[nodiscard]] double share(std::size_t at) const noexcept;
  [[nodiscard]] const TableNode* find(std::string_view node) const noexcept;
};

struct Table {
  std::uint64_t number = 0;
  std::vector<TableUpstream> upstreams;
  friend bool operator==(const Table&, const Table&) = default;

  [[nodiscard]] const TableUpstream* find(std::string_view upstream) const noexcept;
};

}  // namespace steelyard::model
